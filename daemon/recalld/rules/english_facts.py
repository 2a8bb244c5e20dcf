"""English: what announces conventions, standing facts and the state of the work."""

from __future__ import annotations

from recalld.model import Scope, Type
from recalld.rules.table import Cue, cue

_VALUE = (
    r"(?:(?:about|around|at (?:most|least)|exactly|set to|fixed (?:at|to)|capped at|limited to|now|always|usually|still) )*"
    r"(?:[$€£:]?\d[\w.,:%/-]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred)"
)
_NO_FAULT = r"(?!.*(?<![\w'])(?:but|wrong|should|although|though|why|somehow|reason|too|again|suddenly|bug|error|expected|weird|strange|fail(?:s|ed|ing)?|down|broken|crash(?:es|ed)?|with an? [45]0\d)(?![\w']))"
_QUANTITY = (
    r"(?:ports?|time-?outs?|sizes?|limits?|ttl|retention|intervals?|thresholds?|quotas?|capacity|periods?|budget|concurrency|"
    r"parallelism|ceiling|caps?|maximum|minimum|max|min|replicas?|cache time|lifetime|grace period|tax rate)"
)
_NAMED = (
    r"(?:accounts?|users?|roles?|buckets?|clusters?|databases?|queues?|topics?|hosts?|servers?|namespaces?|projects?|repo(?:sitory)?|"
    r"environments?|channels?|teams?|networks?|zones?|groups?|vaults?|schemas?|registry|region|profile|workspace)"
)

FACTS: tuple[Cue, ...] = (
    # plain facts: what has which value, or is where
    cue(
        Type.FACT,
        0.9,
        r"^"
        + _NO_FAULT
        + r"(?:(?:the|our|its|all|default) )*(?:[\w/.-]+ ){0,4}"
        + _QUANTITY
        + r"(?: (?:of|for|in|on|at|to|between|per) [^,.;:?]{2,50}?)? "
        r"(?:is|are) " + _VALUE,
        r"^"
        + _NO_FAULT
        + r"(?!(?:it|this|that|there|he|she|they|what|who)(?![\w']))[^,;:?]{2,50} (?:listens?|answers?) on (?:the )?(?:tcp |udp )?(?:port )?:?\d{2,5}",
        r"^"
        + _NO_FAULT
        + r"(?:(?:the|our|all) )?(?:[\w-]+ ){0,2}(?:tests?|suite|builds?|jobs?|migrations|linting|docs|workers?|pipelines?|"
        r"releases?|deploys?|deployments?) (?:run|build|start|deploy|go)(?:e?s)? (?:with|via|through|under) "
        r"(?!(?:an?|the|no|some|all|errors?|problems?|issues?|warnings?|it|this|that|me|you)(?![\w']))\S+",
        r"^(?:the|our) (?:[\w/.-]+ ){0,3}"
        + _NAMED
        + r"(?: (?:of|for|in|on|at) [^,.;:?]{2,40}?)? (?:is|are) (?:called|named) "
        r"(?!(?:twice|again|from|by|with|when|on|before|after|the same|differently|wrong)(?![\w']))\S+",
        r"^"
        + _NO_FAULT
        + r"(?!(?:it|this|that|there|the (?:culprit|error|problem|result|output|cause|issue)|what|current)(?![\w']))[^,;:?]{2,50} "
        r"(?:is|are) (?=[\w.-]*\d)(?!v?\d)[a-z]\w*[.-][\w.-]+[.]?$",
    ),
    cue(
        Type.FACT,
        0.85,
        r"^"
        + _NO_FAULT
        + r"(?!(?:it|this|that|there)(?![\w']))[^,;:?]{2,50} (?:is|are) (?:cached|kept|held|retained|stored|purged|rotated|polled|refreshed|capped|limited|throttled|"
        r"archived|batched) (?:for|after|at|to|every) " + _VALUE,
        r"^"
        + _NO_FAULT
        + r"(?!(?:it|this|that|there)(?![\w']))[^,;:?]{2,50} (?:is|are) (?:managed|hosted|administered|provisioned|orchestrated|tracked|documented) "
        r"(?:in|on|by|with|via|through|at) (?!(?:progress|vain|the moment)(?![\w']))\S+",
    ),
    cue(
        Type.PREFERENCE,
        0.9,
        r"^"
        + _NO_FAULT
        + r"(?:(?:all|every|our|the) )?(?:[\w/-]+ ){0,3}(?:names?|ids?|keys?|slugs?|titles?|labels?|prefix(?:es)?|identifiers?|tags?)"
        r"(?: (?:in|of|for) [^,;:?]{2,30}?)? (?:(?:is|are) always (?!(?:null|empty|missing|undefined|none|late|the same)(?![\w']))|"
        r"(?:always )?(?:start|begin|end)s? with (?!(?:an?|the|no) (?!prefix|suffix|capital|lower|upper|verb|noun|letter|ticket|type)))\S+",
    ),
    cue(
        Type.DECISION,
        0.9,
        r"^(?!(?:the|a|my) (?:value|counter|result|output|sum|total|count|answer|index|response|number|error)(?![\w']))[^,;?]{3,60} (?:is|are) now "
        + _VALUE
        + r"[^,.;?]{0,30}?,? (?:instead of|rather than|and not|not) \w",
        r"^(?:(?:ok|okay|so|alright|then|and|yes),? )*let's (?:use|go with|stick with|stay with|adopt|standardi[sz]e on|settle on) "
        r"(?!(?:an?|the|this|that|it|these|those|another|some|my|your|one|both|two|something|option)(?![\w']))[\w.+#/-]+(?: [\w.+#/-]+){0,5}? "
        r"(?:for|as) (?:the|our|all|every|background|[a-z-]+s(?=[.!]?$))(?! (?:[\w-]+ )?(?:tests?|moment|demo|time|first|next|example|beginning|start|loop|function|method|class|variable|case|line|block|branch|query|file|fix|"
        r"button|header|argument|parameter|part|rest|string|array|list|snippet)(?![\w']))",
    ),
    # conventions and standing facts
    cue(
        Type.PREFERENCE,
        0.9,
        r"(?:our|the|house|team|project|coding|naming|style) (?:convention|rule|policy|style|standard|"
        r"practice|guideline)s?(?: here| in .{2,30}| for .{2,40}| of .{2,40}| is| are| says)?(?: is|"
        r" are|:)|conventions?(?: for .{2,40}| in .{2,40})?:|(?:is|are) (?:the|our|a) (?:convention|"
        r"rule|policy|standard|house style)|(?:rule|naming|style|policy)(?! of thumb)(?: in .{2,40}|"
        r" for .{2,40})?:|by (?:convention|policy)|the rule (?!of thumb)(?:is|in|for|here)|our rule|"
        r"^(?:house |team )?rules? (?:of|in|for|here)[^:]{0,40}:",
    ),
    cue(
        Type.PREFERENCE,
        0.8,  # "migrations must be reversible", "every upgrade needs a downgrade"
        r"^(?:[\w-]+ ){0,4}[\w-]+s must (?:not |never |always |only )?\w+",
        r"we (?:must|have to|need to)(?: not| never| always| only)? \w+ .*(?:every|each|any|always|never|before|after) \w+",
        r"(?:^|[,:] )(?:every|each|all|any) (?:[\w-]+ ){1,5}(?:must|has to|have to|needs? (?:an?|to))",
    ),
    cue(
        Type.FACT,
        0.85,
        r"we(?:'re| are) (?:all |now |still )?on (?!it\b|the (?:same|way|right)|track|call|vacation|holiday|a call|schedule|hold|fire|board|"
        r"top|my|your|this|that)\w+",
        r"(?:insists? on|requires that|demands)",
    ),
    cue(
        Type.FACT,
        0.85,
        r"(?:must|have to|has to|need to|needs to|may|are|is|can)(?: not|n't| never| always|"
        r" only)* (?:be )?(?:prefixed|suffixed|look like|start with|end (?:with|in)|named|called|"
        r"follow|go through|signed off|reviewed by|approved by|written in|kept|stored|purged|"
        r"deleted after|run on|lives?)",
    ),
    cue(
        Type.FACT,
        0.85,
        r"(?:our|the team's|this (?:project|repo|repository|codebase|service|app|monorepo|"
        r"team)(?:'s)?) [\w./ -]{2,60}? (?:is|are|runs?|lives?|uses?|has|have|needs?|sits?|listens?|"
        r"talks?|goes|go|comes?|must|only|requires?|targets?|supports?|ships?|speaks?|expects?|"
        r"starts?|ends?|belongs?|stays?|reports?|buffers?|contains?|works?|points?|reads?|writes?|"
        r"deploys?|closes?|opens?)|we (?:have|keep|get|write|build|test)(?! (?:to|a (?:bug|problem|"
        r"crash|failing|demo|meeting)|an? (?:error|issue|incident|outage)))|(?:in|for|on) our (?:repo|"
        r"repository|project|codebase|monorepo|team|company|org|lab|setup)|this (?:repo|repository|"
        r"project|codebase|service|app|monorepo) (?:uses|is|has|needs|runs|targets|requires|must|only|"
        r"does)",
    ),
    cue(
        Type.FACT,
        0.9,
        r"(?<!if )(?<!whether )(?<!when )we (?:only |all |always |still |now )?(?:use|run|deploy|ship|"
        r"host|store|support|target|publish|pay|rent|log|release|sell|serve|process|buy|follow|"
        r"version|tag|own|maintain|pin|sign|squash|rebase|name|prefix)(?! (?:to|a loop|it|this|that|"
        r"these|them)(?![\w']))|^(?:in|for|on) this (?:repo|repository|project|codebase|monorepo|team|"
        r"company|org|lab|setup)",
    ),
    cue(Type.FACT, 0.96, r"my name is|my name's", scope=Scope.USER),
    cue(
        Type.FACT,
        0.9,
        r"i(?:'m| am) (?:an? |the )(?:\w+[ -]){0,4}(?:dev|developer|engineer|programmer|designer|"
        r"scientist|analyst|manager|student|teacher|researcher|admin|sysadmin|architect|lead|beginner|"
        r"maintainer|owner|contractor|freelancer|intern|lawyer|doctor|nurse|accountant|writer|"
        r"biologist|physicist|mathematician|statistician|tester|consultant|founder|editor|journalist|"
        r"librarian|pm|dba|sre|newbie|novice)|i(?:'m| am) (?:colou?r[- ]?blind|dyslexic|deaf|blind|"
        r"left-handed|new to|based in|on (?:windows|mac ?os|linux|a mac|an m\d|ubuntu|fedora|arch|"
        r"wsl\d?|nixos|debian|freebsd)|the only|responsible for|in charge of|on parental|from )|"
        r"i (?:work (?:as|at|for|on|in|from|part[- ]time|full[- ]time|remotely|nights)|live in|speak|maintain|study|own|use (?:a |an )?(?:mac|"
        r"windows|linux|neovim|vim|emacs|vs ?code|intellij|screen reader|nvda|jaws))|i run (?:the|a|"
        r"our|\w+'s)|i(?:'m| am)(?: based| located| living)? in (?!the|a|an|this|that|trouble|doubt|"
        r"favou?r|love|charge|it|here|there|no|on|my|your|between|need)\w+|my (?:timezone|time zone|"
        r"role|job|job title|background|machine|laptop|setup|editor|shell|native language|"
        r"mother tongue|pronouns|handle|keyboard|office|email|team)(?: is| are| has)",
        scope=Scope.USER,
    ),
    cue(
        Type.FACT,
        0.7,
        r"(?:by the way|btw)(?=,? (?!can|could|what|how|why|did|is|are|do|does|thanks|nice))|"
        r"(?:reviews?|signs? off on|approves?|owns?|is responsible for|is in charge of|"
        r"maintains?) (?:any|every|all|the|anything|everything|changes|whatever)|(?:deadline|due date|"
        r"go-live|release date|launch)(?: .{2,40})? is|(?:only|never|always) (?:accepts?|speaks?|"
        r"supports?|allows?|works?|runs?|listens?|understands?|returns?|takes?|knows?|reads?)|(?:is|"
        r"are) (?:always|never|only) (?:stored|kept|done|written|run|sent|used|built|deployed|"
        r"released|read|allowed|reachable|available|up)|(?:lives?|sits?|is|are) (?:in|under|at|on|"
        r"behind) (?:vault|1password|bitwarden|the vault|keychain|s3|confluence|jira|notion|\$\w+)|"
        r"(?:is|are|it's) (?:now )?(?:called|named)|(?:was|has been|got) renamed",
    ),
    cue(Type.PREFERENCE, 0.96, r"call me (?!when|if|back|later|once|tomorrow|at|on)\w+", scope=Scope.USER),
    # where the work stands
    cue(
        Type.PROGRESS,
        0.75,
        r"(?:is|are|went) (?:finally |now )?(?:out(?: of| the)?(?: the)? door|live|in production|out(?=[.,;]|$))|now comes",
    ),
    cue(Type.PROGRESS, 0.75, r"(?:blocked|stuck|waiting) (?:on|at|for|by)"),
    cue(
        Type.PROGRESS,
        0.9,
        r"^(?:(?:and|so|ok|okay),? )*(?:next|after that|then)(?: up)? (?:(?:is|are|comes?) (?!(?:it|this|that|there|to|not|unclear|a bit)(?![\w']))\S+|"
        r"(?:we|i)(?:'ll| will| are going to)? (?:do|start|tackle|build|move on|continue|turn to|work on|take on)(?![\w']))",
        r"^(?:(?:and|so|ok|okay),? )*(?:what|all that) (?:still )?(?:remains|is left|is missing)(?: now| to do| to be done)? is (?!(?:unclear|open|unknown|to be seen|the question|a mystery)(?![\w']))\S+",
        r"only [^,.;?]{2,60} (?:is|are|remains?) (?:still )?(?:left|missing|to go|to do|open|remaining)(?=[.,;!]|$)",
        r"^(?:tomorrow|next week|on (?:mon|tues|wednes|thurs|fri)day),? (?:i|we)(?:'ll| will)? (?:start|begin|continue|go on|carry on|pick up|tackle|resume|move on)(?: \S+){2,}",
    ),
    cue(
        Type.PROGRESS,
        0.9,
        r"^(?:ok |okay |so |and |just |finally |now )*(?:shipped|merged|finished|completed|released|launched|landed|wrapped up|"
        r"closed out|rolled out|ported|migrated) (?:the|all|our|both|\w+ of)|"
        r"next (?:task|job|item|milestone|thing|ticket|feature|chunk|part|big \w+)(?: is| will be|:)|"
        r"^(?:ok |okay |so |and )*(?:done|status|progress|state|finished|where we are|"
        r"where this stands|current state|so far|wip)(?: so far| update| of .{2,40})?[:—-]|(?:next up|"
        r"up next|next step|next steps|next on the list|what's left|what is left|left to do|"
        r"still to do|still missing|remaining(?: work)?|to go(?=[.:]|$))(?: is| are|:)?|(?:is|are|was|were|got|"
        r"has been|have been|\w+'s) (?:now |all |finally |already |almost |nearly |mostly |"
        r"half )*(?:done|finished|complete|completed|merged|migrated|ported|implemented|shipped|"
        r"released|deployed|tagged|through|proofread|converted|translated|wired up|in place|behind us|"
        r"landed)(?! (?:by|with|in|at|on the|through|every|each|when|if|via|manually|automatically|"
        r"from))|(?:we|i)(?:'ve| have)?(?: now| just| finally| already)? (?:finished|completed|"
        r"got through|wrapped up|merged|ported|landed(?! on)|made it|left off|stopped at|reached)|(?:hasn't|haven't|isn't|aren't|not) (?:been )?(?:started|"
        r"begun|done|finished|merged|ported) yet|not (?:yet )?started|halfway|(?:left off|paused|"
        r"stopped) (?:at|in|before|after)|(?:is|are|'s) (?:the )?(?:last|next|only)(?: big| remaining|"
        r" missing)? (?:chunk|part|piece|step|thing|item|milestone|task)|what(?:'s| is) left",
    ),
)
