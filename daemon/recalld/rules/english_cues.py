"""English: what announces a memo, a lesson, a decision or a preference."""

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
        r"that) down|(?:save|store|keep) (?:this|that) (?:to|in|for)|(?:save|store|keep|record|note|log) (?:this|the following)"
        r"(?: down)?(?= ?:)|(?:jot|note) (?:this|that|it) down|for (?:your|the) (?:notes|memory|records)",
        explicit=True,
    ),
    cue(
        Type.PREFERENCE,
        0.96,
        r"^(?:please |and |so |ok |also ){0,2}(?:remember|do not forget|don't forget) to(?= (?:always|never)(?![\w']))",
        explicit=True,
    ),
    cue(
        None,
        0.9,
        r"^(?:please |and |so |ok |also ){0,2}(?:remember|note) (?:the|our|my|we|i|in|on|all|every|"
        r"there|(?!to\b)\w+ (?:is|are|runs?|listens?|lives?|uses?|has|have))",
        explicit=True,
    ),
    cue(
        None,
        0.9,
        r"^(?:and |so |also )*(?:you (?:should|need to|must|ought to) know|for context|some (?:background|context)|"
        r"(?:good|worth) (?:to know|knowing|remembering|noting))(?= that|[:,])",
    ),
    # lessons
    cue(
        Type.LESSON,
        0.93,
        r"lessons?(?: we)? learn(?:ed|t)|(?:we|i)(?:'ve| have)?(?: just| also)? learn(?:ed|t)(?! (?:about|to|how)(?![\w']))|lesson:|lesson (?:for|from|of)|learn(?:ed|t) (?:it |this |"
        r"that )?the hard way|(?:found|finding) out the hard way|the hard way|gotcha:?|pitfall:?|"
        r"post-?mortem:?|after (?:last|the|yesterday's|this|our|that) .{0,30}(?:incident|outage|"
        r"disaster|mess)|bit(?:ten)? us|bites us|never again|burn(?:ed|t) (?:us|by|\w+ (?:hours|days|"
        r"weeks))|wasted (?:\w+ ){1,3}(?:hours?|days?|weeks?|afternoon|morning|evening)|cost us|"
        r"took (?:me|us) (?:\w+ ){1,3}(?:hours?|days?|weeks?|afternoon|morning|evening) to (?:find|"
        r"figure|see|notice|learn|debug|track)|root cause|the (?:cause|culprit) (?:was|is|turned out)|"
        r"(?:it )?turn(?:s|ed) out|what (?:broke|went wrong|helped|fixed)",
    ),
    cue(
        Type.DECISION,
        0.9,
        r"(?:is|are|becomes?) (?:now )?(?:the|our) new (?:baseline|default|standard|minimum|home|norm)|, final[.!]?$|"
        r"(?:isn't|aren't|is not|are not) (?:accepted|allowed|welcome|supported|checked in|tolerated)(?: (?:here|any (?:longer|more)))?",
    ),
    cue(Type.FACT, 0.85, r"^(?:small |quick )?correction(?=[:,])"),
    # decisions
    cue(
        Type.DECISION,
        0.92,
        r"(?:we|i|they|the team|management|product|everyone|ops)(?:'ve| have| has| had|'d)?(?: all|"
        r" now| finally| just| already| since| officially)? (?:decided|agreed|settled|chosen|chose|"
        r"picked|opted|committed)(?! (?:yet|if|whether))|(?:we|i)(?:'re| are|'m| am)(?: now|"
        r" officially| also| all| still)? (?:going (?:with|for)|standardi[sz]ing|consolidating|converging|settling|"
        r"sticking (?:with|to)|committing to|switching (?:over )?to|moving (?:over )?to|"
        r"migrating (?:over )?to|dropping|adopting|ditching|replacing|keeping)|(?:it's|it is|that's|"
        r"that is|this is|has been|was|is) (?:now )?(?:decided|settled|agreed|final|official)|"
        r"(?:final )?(?:decision|verdict|decided|agreed|resolution|agreement)(?: is| (?:from|of|in|after) [^:]{2,40})?:|"
        r"the decision is|make it official|"
        r"final (?:decision|answer|call)|we(?:'ve| have)? changed our minds?|we(?:'ve|"
        r" have)? standardi[sz]ed?|it is\.?$|as (?:agreed|decided)|(?:we|the team) (?:voted|"
        r"signed off|went (?:with|for))|(?:we|i)(?:'ll| will)? (?:go|stick|stay) with|(?:we|i) (?:landed on|ended up with)|we said (?:yes|no) to|"
        r"(?:the )?(?:board|team|management|boss|client|customer|council|committee|owners?|group|majority|players|users) "
        r"(?:chose|picked|voted|opted|went (?:for|with)|settled)|(?:end of|no more) discussion|not up for (?:debate|discussion)|"
        r"(?:cut from|out of|in) (?:the )?scope|(?:isn't|is not|aren't|are not|won't be) going to happen|"
        r"we(?:'re| are|'ll| will)(?: not|n't)? (?:done with|out of|(?:not )?going to (?:support|use|keep|build|translate|host|do))|"
        r"we aren't going to|(?:signed off on|approved) (?:it|by)|off the table|we went (?:with|for|back)|"
        r"(?:gave|given|giving) up on|(?:verdict|outcome|result|conclusion)(?: of| from) .{3,60}:|that's final|(?:is|"
        r"are) (?:now )?(?:banned|forbidden|off limits)",
    ),
    cue(
        Type.DECISION,
        0.9,
        r"from now on|from here on(?: out)?|going forward|(?:starting|from|as of) (?:now|today)(?! (?:until|till|to)(?![\w']))",
    ),
    cue(
        Type.DECISION,
        0.85,
        r"(?:we|i)(?:'re| are|'m| am|'ve| have)?(?: now| all| finally| also)? (?:mov|switch|migrat|port|chang)(?:ing|ed) "
        r"[^,.;:]{2,50}? (?:over )?to",
    ),
    cue(
        Type.DECISION,
        0.75,
        r"so (?:it's|we're|it is|we are) (?:back to )?.{2,40} again|back to (?!work|business|sleep|normal|the|you|me|bed)\w+",
    ),
    cue(
        Type.DECISION,
        0.85,
        r"(?:we|we'll|we will|we'd)(?:'ll| will| now| only| always| never| no longer| don't| do not|"
        r" won't| will not)+ (?:use|go|stick|keep|support|ship|deploy|store|run|write|build|need|want|"
        r"take|have|do|target|allow|accept|depend|pin|publish|host)|(?:we|i) (?:dropped|scrapped|"
        r"switched|moved|migrated|replaced|upgraded|raised|lowered|bumped|renamed|changed(?! (?:my|our) minds?)|retired|"
        r"adopted|introduced|abandoned)|no longer (?:use[ds]?|supports?|supported|need(?:ed|s)?|"
        r"appl(?:y|ies)|allowed|needs?)|goes to|stays? (?:at|on|with|in)|in favou?r of|"
        r"(?:will|shall) (?:be|stay|remain|live|use|run|go)|(?:is|are) (?:gone|history|dead|void|abolished|suspended|lifted|"
        r"allowed again|scrapped|discontinued|back on the table)|for good[.!]?$|(?:is|are|'s) (?:going to be|to be) (?:called|named|\w+[.!]?$)",
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
        r"don't need|insist)|i(?:'d| would) (?:rather|sooner)|^(?:not an?|no|big|huge|not a big) fan of|i(?:'d| would) be happ(?:y|ier|iest) if you",
        scope=Scope.USER,
    ),
    cue(
        Type.PREFERENCE,
        0.92,
        r"(?:here|now) and in (?:the )?future|(?:that|this) (?:goes|holds|applies|counts) for (?:all|every|any|each)|"
        r"in all (?:our|my|your) (?:sessions|chats|conversations|tasks|answers|replies|projects|code|work)|"
        r"^(?:please )?(?:ask|warn|tell|check with|consult) me (?:first|before|when|whenever|if)|"
        r"^(?:and |so |also |please )*when(?:ever)? you (?:explain|write|answer|name|add|show|change|commit|review|suggest|"
        r"make|create|give|summari[sz]e|propose|refactor|test|report|quote|compare)(?![\w'])|"
        r"^(?:and |so |please )*(?:(?:there's |there is )?no need to|you (?:don't|do not|needn't|need not) (?:have|need|always)?(?: ?to)?) "
        r"(?:summari[sz]e|explain|apologi[sz]e|repeat|comment|ask|thank|be polite|tell me|show|justify|list|praise|restate)|"
        r"(?:don't|do not|dont) ever|from now on,? (?:please|always|never|only|just|don't|do not|use|"
        r"write|answer|reply|keep|put|stop|no|give|show|ask|run|add|make|name|commit|explain|call|"
        r"start|leave|tell)|(?:in (?:the )?future|going forward|from here on(?: out)?),? (?:please|"
        r"always|never|only|don't|do not|use|write|answer|keep|put|stop|no|name|make|run|ask|give|"
        r"show|add)|no .{2,60}, ever|(?:please )?(?:stop|quit) \w+ing(?! the (?:server|container|"
        r"process))|stick (?:to|with)|i want you to (?:always|never|stop|only)|you (?:must|"
        r"need to|have to) (?:always|never|not ever)|(?:unless|until) i (?:ask|say|tell|confirm)|"
        r"without (?:asking|my)|one \w+ at a time|keep (?:your )?(?:answers?|replies|explanations?|responses?|it|"
        r"commits?|diffs?|functions?) (?:short|brief|small|terse|concise|simple|under)|(?:answer|"
        r"reply|respond|talk|speak|write)(?: to)?(?: me)? (?:always |only )?in (?:english|german|spanish|french|"
        r"japanese|chinese|italian|portuguese|dutch|russian|korean)",
        r"^"
        + SOFT
        + r"(?:always|never|don't ever|do not ever|dont ever|under no circumstances|whenever (?:you|i))(?! (?:mind|again$|an? |the |been|seen|had|heard|happened|worked|knew|thought|late|fun|nice|good|great|my ))",
    ),
    cue(
        Type.PREFERENCE,
        0.75,  # a ban without a verb: "no force pushes to release branches"
        r"^"
        + SOFT
        + r"no (?!idea|problem|worries|need|way|luck|clue|wonder|doubts?|thanks|hurry|rush|longer|more|matter|one|"
        r"errors?|changes?|difference|reason|output|result|response|success)(?!.*(?:is|are|was|were|has|have|had|found|came|"
        r"shows?|works?|fails?)(?![\w']))\w[\w-]*(?: \w[\w./()-]*){2,}",
    ),
    cue(
        Type.PREFERENCE,
        0.9,
        r"(?<!if )(?<!when )(?<!that )we (?:never|always|only|don't|do not|usually)(?! (?:know|have|had|saw|see|got|get|understand|need|"
        r"want|think|thought|expect|found|find|seem|seen|been|did|was|were|heard|care|mind|remember|agree|happen|"
        r"\w+ed)(?![\w'])) [a-z]{2,}",
    ),
    cue(
        Type.PREFERENCE,
        0.9,
        r"that's (?:our |the |an? )?(?:[\w-]+ )?(?:policy|rule|convention|law)(?: here|"
        r" with us)?",
    ),
    cue(
        Type.PREFERENCE,
        0.9,
        r"^(?:please )?(?:do not|don't|dont|avoid|no|use|prefer|favou?r|keep|put|write) .{3,80} (?:in (?:this|"
        r"our) (?:repo|repository|project|codebase|monorepo|team)|anywhere|at all|everywhere|"
        r"by default)",
    ),
    cue(
        Type.PREFERENCE,
        0.9,  # a ban on something in general (without an article) in a kind of place is no task
        r"^(?:please )?(?:use|show|write|put|give|take|call|name) .{3,80}, (?:never|not ever) ",
        r"^(?:please )?(?:avoid|(?:do not|don't|dont) (?:use|write|put|add|call|import)) (?!(?:the|this|that|these|"
        r"those|it|an?|my|our|your|one|two|\d+)(?![\w']))[^,.;:]{3,50} (?:in|for|inside|outside) (?:the |all |our |new |any )?"
        r"(?:[\w/-]+ ){0,2}(?:code|layers?|modules?|packages?|tests|components?|services?|handlers?|migrations|queries|configs?|"
        r"scripts|docs|documentation|endpoints|controllers?|models?|identifiers|names|messages|comments|apis?|ui|logs?|cli|sql|css|html)(?![\w'])",
    ),
    cue(
        Type.PREFERENCE,
        0.75,
        r"^(?:please )?avoid \w+",
        r"\w+ only(?:,? (?:no|not|never|please)|[.!]?$)|\w+ everywhere[.!]?$|, never \w+[.!]?$|only,? no \w+|,? ever[.!]?$|, always(?=[,.!]|$)|always[.!]?$|"
        r"^(?:please )?(?:no|not) .{2,60} please|always .{2,80}, never|no exceptions?",
    ),
)
