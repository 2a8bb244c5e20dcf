"""English: what announces something to keep."""

from __future__ import annotations

from recalld.model import Scope, Type
from recalld.rules.english_tasks import SOFT
from recalld.rules.table import Cue, cue

CUES: tuple[Cue, ...] = (
    # the person asks for it
    cue(
        None,
        0.95,
        r"remember (?:that|this)(?!\?)|remember[:,]|please remember(?! to)|(?:for the record|fyi|"
        r"for your information|for future reference|just so you know|heads[- ]up|keep in mind|"
        r"bear in mind|note to self|please note|note that|take note)|(?:don't|do not|"
        r"never) forget(?! to)|make a (?:mental )?note|memori[sz]e|^(?:please )?write (?:this|"
        r"that) down|save (?:this|that) (?:to|in|for)",
        explicit=True,
    ),
    cue(
        None,
        0.9,
        r"^(?:please |and |so |ok |also ){0,2}(?:remember|note) (?:the|our|my|we|i|in|on|all|every|"
        r"there|(?!to\b)\w+ (?:is|are|runs?|listens?|lives?|uses?|has|have))",
        explicit=True,
    ),
    # lessons
    cue(
        Type.LESSON,
        0.93,
        r"lessons?(?: we)? learn(?:ed|t)|lesson:|lesson (?:for|from|of)|learn(?:ed|t) (?:it |this |"
        r"that )?the hard way|(?:found|finding) out the hard way|the hard way|gotcha:?|pitfall:?|"
        r"post-?mortem:?|after (?:last|the|yesterday's|this|our|that) .{0,30}(?:incident|outage|"
        r"disaster|mess)|bit(?:ten)? us|bites us|never again|burn(?:ed|t) (?:us|by|\w+ (?:hours|days|"
        r"weeks))|wasted (?:\w+ ){1,3}(?:hours?|days?|weeks?|afternoon|morning|evening)|cost us|"
        r"took (?:me|us) (?:\w+ ){1,3}(?:hours?|days?|weeks?|afternoon|morning|evening) to (?:find|"
        r"figure|see|notice|learn|debug|track)|root cause|the (?:cause|culprit) (?:was|is|turned out)|"
        r"(?:it )?turn(?:s|ed) out|what (?:broke|went wrong|helped|fixed)",
    ),
    cue(Type.FACT, 0.85, r"^(?:small |quick )?correction(?=[:,])"),
    cue(
        Type.LESSON,
        0.6,
        r"(?:the )?(?:reason|problem|issue|bug|trick|fix|trap) (?:was|is|turned out)|(?:failed|broke|"
        r"crashed|hung) because|so (?:don't|never|not) (?:do|use|try) (?:it|that) again|"
        r"it was the \w+|silently|we found (?:out )?that|i found out",
    ),
    # decisions
    cue(
        Type.DECISION,
        0.92,
        r"(?:we|i|they|the team|management|product|everyone|ops)(?:'ve| have| has| had|'d)?(?: all|"
        r" now| finally| just| already| since| officially)? (?:decided|agreed|settled|chosen|chose|"
        r"picked|opted|committed)(?! (?:yet|if|whether))|(?:we|i)(?:'re| are|'m| am)(?: now|"
        r" officially| also| all| still)? (?:going (?:with|for)|standardi[sz]ing|settling|"
        r"sticking (?:with|to)|committing to|switching (?:over )?to|moving (?:over )?to|"
        r"migrating (?:over )?to|dropping|adopting|ditching|replacing|keeping)|(?:it's|it is|that's|"
        r"that is|this is|has been|was|is) (?:now )?(?:decided|settled|agreed|final)|"
        r"(?:final )?(?:decision|verdict|decided|agreed|resolution|agreement)(?: is| (?:from|of|in|after) [^:]{2,40})?:|"
        r"the decision is|"
        r"final (?:decision|answer|call)|we(?:'ve| have)? changed our minds?|we(?:'ve|"
        r" have)? standardi[sz]ed?|it is\.?$|as (?:agreed|decided)|(?:we|the team) (?:voted|"
        r"signed off)|(?:signed off on|approved) (?:it|by)|off the table|we went (?:with|for|back)|"
        r"gave up on|(?:verdict|outcome|result|conclusion)(?: of| from) .{3,60}:|that's final|(?:is|"
        r"are) (?:now )?(?:banned|forbidden|off limits)",
    ),
    cue(Type.DECISION, 0.75, r"so (?:it's|we're|it is|we are) (?:back to )?.{2,40} again|back to \w+"),
    cue(
        Type.DECISION,
        0.85,
        r"(?:we|we'll|we will|we'd)(?:'ll| will| now| only| always| never| no longer| don't| do not|"
        r" won't| will not)+ (?:use|go|stick|keep|support|ship|deploy|store|run|write|build|need|want|"
        r"take|have|do|target|allow|accept|depend|pin|publish|host)|(?:we|i) (?:dropped|scrapped|"
        r"switched|moved|migrated|replaced|upgraded|raised|lowered|bumped|renamed|changed|retired|"
        r"adopted|introduced|abandoned)|no longer (?:use[ds]?|supports?|supported|need(?:ed|s)?|"
        r"appl(?:y|ies)|allowed|needs?)|goes to|stays? (?:at|on|with|in)|from now on|"
        r"from here on(?: out)?|going forward|(?:starting|from|as of) (?:now|today)|in favou?r of|"
        r"(?:will|shall) (?:be|stay|remain|live|use|run|go)|(?:is|are) (?:gone|history|dead|void)",
    ),
    # preferences and rules of behaviour
    cue(
        Type.PREFERENCE,
        0.92,
        r"i(?:'d| would)?(?: really| much| strongly| generally| always| usually|"
        r" still)? prefer(?! (?:the|this|that|it|option|version|cats|dogs)(?![\w']))|i(?:'m|"
        r" am) (?:a fan of|not a fan of|used to|allergic to)|(?:my|our) preference|i (?:always|never|"
        r"usually|generally|only ever|really) (?:want|use|write|work|like|read|put|go|run|do|need|"
        r"have|test|start|type)|i (?:hate|dislike|can't stand|despise|loathe|don't like|"
        r"do not like)(?! (?:this|that|it|the|these|those|mondays)(?![\w']))|i (?:like it when|"
        r"like (?:my|your|code|short|long|things|answers|tests|functions)|don't want|never want|"
        r"don't need|insist)|i(?:'d| would) rather",
        scope=Scope.USER,
    ),
    cue(
        Type.PREFERENCE,
        0.92,
        r"(?:don't|do not|dont) ever|from now on,? (?:please|always|never|only|just|don't|do not|use|"
        r"write|answer|reply|keep|put|stop|no|give|show|ask|run|add|make|name|commit|explain|call|"
        r"start|leave|tell)|(?:in (?:the )?future|going forward|from here on(?: out)?),? (?:please|"
        r"always|never|only|don't|do not|use|write|answer|keep|put|stop|no|name|make|run|ask|give|"
        r"show|add)|no .{2,60}, ever|(?:please )?(?:stop|quit) \w+ing(?! the (?:server|container|"
        r"process))|stick (?:to|with)|i want you to (?:always|never|stop|only)|you (?:must|should|may|"
        r"can|need to|have to) (?:always|never|not ever)|(?:unless|until) i (?:ask|say|tell|confirm)|"
        r"without (?:asking|my)|keep (?:your )?(?:answers?|replies|explanations?|responses?|it|"
        r"commits?|diffs?|functions?) (?:short|brief|small|terse|concise|simple|under)|(?:answer|"
        r"reply|respond|talk|speak)(?: to me)? (?:always |only )?in (?:english|german|spanish|french|"
        r"japanese|chinese|italian|portuguese|dutch|russian|korean)",
        r"^"
        + SOFT
        + r"(?:always|never|don't ever|do not ever|dont ever|under no circumstances|whenever (?:you|i))(?! (?:mind|again$|a |the same|been|seen|had|heard|happened|worked|knew|thought|late|fun|nice|good|great|my ))",
    ),
    cue(Type.PREFERENCE, 0.85, r"^(?:for|in) (?:\w+ ){1,4}\w+: .{2,40}, (?:no more|nothing else|always|never|please)"),
    cue(
        Type.PREFERENCE,
        0.9,
        r"that's (?:our |the |a )?(?:team |company |house )?(?:policy|rule|convention|law)(?: here|"
        r" with us)?",
    ),
    cue(
        Type.PREFERENCE,
        0.85,
        r"^(?:please )?(?:do not|don't|dont|avoid|no|use|keep|put|write) .{3,80} (?:in (?:this|"
        r"our) (?:repo|repository|project|codebase|monorepo|team)|anywhere|at all|everywhere|"
        r"by default)",
    ),
    cue(
        Type.PREFERENCE,
        0.75,
        r"\w+ only,? (?:no|not|never|please)|only,? no \w+|,? ever[.!]?$|always[.!]?$|"
        r"^(?:please )?(?:no|not) .{2,60} please|always .{2,80}, never|no exceptions?",
    ),
    # conventions and standing facts
    cue(
        Type.PREFERENCE,
        0.9,
        r"(?:our|the|house|team|project|coding|naming|style) (?:convention|rule|policy|style|standard|"
        r"practice|guideline)s?(?: here| in .{2,30}| for .{2,40}| of .{2,40}| is| are| says)?(?: is|"
        r" are|:)|conventions?(?: for .{2,40}| in .{2,40})?:|(?:is|are) (?:the|our|a) (?:convention|"
        r"rule|policy|standard|house style)|(?:rule|naming|style|policy)(?: in .{2,40}|"
        r" for .{2,40})?:|by (?:convention|policy)|the rule (?:is|in|for|here)|our rule|"
        r"^(?:house |team )?rules? (?:of|in|for|here)[^:]{0,40}:",
    ),
    cue(
        Type.FACT,
        0.85,
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
        r"i (?:work (?:as|at|for|on|in|from)|live in|speak|maintain|study|own|use (?:a |an )?(?:mac|"
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
        r"(?:is|are) (?:called|named)",
    ),
    cue(Type.PREFERENCE, 0.96, r"call me (?!when|if|back|later|once|tomorrow|at|on)\w+", scope=Scope.USER),
    # where the work stands
    cue(
        Type.PROGRESS,
        0.9,
        r"^(?:ok |okay |so |and )*(?:done|status|progress|state|finished|where we are|"
        r"where this stands|current state|so far|wip)(?: so far| update| of .{2,40})?[:—-]|(?:next up|"
        r"up next|next step|next steps|next on the list|what's left|what is left|left to do|"
        r"still to do|still missing|remaining(?: work)?|to go)(?: is| are|:)?|(?:is|are|was|were|got|"
        r"has been|have been|\w+'s) (?:now |all |finally |already |almost |nearly |mostly |"
        r"half )*(?:done|finished|complete|completed|merged|migrated|ported|implemented|shipped|"
        r"released|deployed|tagged|through|proofread|converted|translated|wired up|in place|behind us|"
        r"landed)(?! (?:by|with|in|at|on the|through|every|each|when|if|via|manually|automatically|"
        r"from))|(?:we|i)(?:'ve| have)?(?: now| just| finally| already)? (?:finished|completed|"
        r"got through|wrapped up|merged|ported|landed|made it|left off|stopped at|reached)|(?:blocked|"
        r"stuck|waiting) (?:on|at|for|by)|(?:hasn't|haven't|isn't|aren't|not) (?:been )?(?:started|"
        r"begun|done|finished|merged|ported) yet|not (?:yet )?started|halfway|(?:left off|paused|"
        r"stopped) (?:at|in|before|after)|(?:is|are|'s) (?:the )?(?:last|next|only)(?: big| remaining|"
        r" missing)? (?:chunk|part|piece|step|thing|item|milestone|task)|what(?:'s| is) left",
    ),
)
