"""English: what announces conventions, standing facts and the state of the work."""

from __future__ import annotations

from recalld.model import Scope, Type
from recalld.rules.table import Cue, cue

FACTS: tuple[Cue, ...] = (
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
