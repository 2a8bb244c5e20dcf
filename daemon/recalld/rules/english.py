"""English: how questions, guesses, orders and small talk are worded."""

from __future__ import annotations

import re

from recalld.rules.english_cues import CUES
from recalld.rules.english_facts import FACTS
from recalld.rules.english_tasks import SOFT, TASK
from recalld.rules.table import Language, words

ENGLISH = Language(
    code="en",
    tag=re.compile(
        r"[,.]? (?:right|ok|okay|you know|got it|understood|clear|alright|remember|yeah|deal)\?$|"
        r"[,.]? (?:thanks|thank you|thx|cheers|please and thank you)[.!]*$"
    ),
    question=re.compile(
        r"\?[\"')]*$|^(?:(?:and|but|so|or|hm+|ok|well|btw|also|wait|sorry)[,.]? ){0,3}(?:(?:what|"
        r"which|who|whose|why|how)(?:'s|'re)? (?!(?:left|remains|broke|helped|worked|went wrong|"
        r"matters|i want|i need|we need|we want|we do)\b)(?:.* )?(?:is|are|was|were|does|do|did|can|"
        r"could|should|would|will|has|have|had|happens|happened|causes|means|to|about|if|come|many|"
        r"much|long|signs|owns|runs|uses|wrote|broke)\b|(?:is|are|was|were|does|did|can|could|should|"
        r"shall|would|will|has|may|am|isn't|aren't|doesn't|didn't|can't|couldn't|shouldn't|"
        r"won't) (?:you|we|i|it|this|that|there|they|he|she|the|a|an|my|our|your|any|all|some|someone|"
        r"anyone|every|these|those|\w+) |do (?:you|we|i|they|the|our|my|these|those|all|any) |"
        r"have (?:you|we|they|i) (?!to )|(?:any (?:idea|thoughts|chance|reason|way)|thoughts|wdyt)\b|"
        r"(?:where|when) (?:is|are|was|were|does|do|did|should|can|could|will|would)\b)|^(?:i|"
        r"we)(?:'m| am|'re| are)? (?:wonder|wondering|curious)\b"
    ),
    hypothetical=re.compile(
        r"^(?:(?:and|but|so|or|hm+|ok|well)[,.]? ){0,2}(?:suppose|supposing|imagine|assume|assuming|"
        r"depending on|in case|i have (?:a|an|two|three|some|several) (?:\w+ ){0,2}(?:lists?|arrays?|strings?|"
        r"tables?|dicts?|dates?|files?|columns?|dataframes?|functions?|vectors?|objects?|numbers?)|"
        r"what if|in theory|hypothetically|theoretically|let's say|say we|let's (?:imagine|assume|"
        r"pretend|suppose)|pretend|as if)\b|^(?:even )?if .*(?:would|could|might|were|wanted|decided|"
        r"had )|(?:^|[,;:] |\b(?:and|so|then|or|maybe|perhaps|alternatively) )(?:we|i|you|one|they) could (?:also |maybe |perhaps |always |just )?\w+|"
        r"\bwould (?:be|have|make|it|you|we|that|love|need|cost|break|need to)\b|\b(?:should probably|"
        r"at some point|some ?day|one day|eventually we|might want|might be (?:worth|better|nice)|"
        r"nice to have|what would)\b"
    ),
    undecided=words(
        r"(?:have|has|had|is|are)(?:n't| not)(?: yet)? (?:been )?(?:decided|settled|chosen|agreed|"
        r"final|finali[sz]ed)|not decided|nothing (?:is|has been|was) (?:decided|settled|agreed|final)|we(?:'ll| will) (?:pick|choose|decide)|undecided|undetermined|(?:still|currently|only|"
        r"just) (?:considering|thinking|debating|deciding|discussing|evaluating|weighing|undecided|"
        r"an idea)|(?:question|decision|choice|point) (?:is|remains) (?:still )?open|"
        r"not (?:yet )?final|to be (?:decided|discussed|determined)|tbd|torn|on the fence|"
        r"back and forth|no decision|nobody has .*green light|candidates?(?: so far)?$|(?:one|"
        r"some) of the (?:candidates|options|ideas)|(?:i'm|we're|i am|we are) (?:considering|"
        r"thinking (?:about|of)|debating|toying|wondering|tempted)|let me think|think about it|"
        r"will (?:vote|decide|discuss|see)|we'll see|decided nothing|up to (?:the|them|him|her)|"
        r"(?:we|i) (?:thought|talked|argued|toyed|played) (?:about|with|over)|(?:we|i) (?:considered|discussed|debated)|who knows|just asking|just curious"
    ),
    generated=re.compile(
        r"^"
        + SOFT
        + r"(?:(?:can|could|would|will) you |i (?:need|want|'d like) |help me )?(?:please )?(?:(?:write(?! (?:this|that|it) down)|"
        r"draft|compose|generate|create|invent|make up|sketch|phrase|formulate|come up with|produce|"
        r"reply with|answer with)\b.*\b(?:that says|which says|saying|in which|where|"
        r"about (?!the (?:bug|error))|e-?mail|mail|letter|story|scene|dialogue?|poem|song|essay|"
        r"article|blog|post|tweet|slogan|joke|speech|announcement|press release|newsletter|memo|notice|invitation|fake|"
        r"fictional|made-up|fictitious|imaginary|demo|sample|example|dummy|placeholder|lorem|"
        r"paragraph|sentence|changelog|readme|section|page|headline|title|text|reply|response|message|"
        r"bio|abstract|comment that|template)\b|translate|(?:correct|improve|polish|shorten|simplify|"
        r"fix|check) (?:the |this |my )?(?:grammar|style|wording|spelling|paragraph|sentence|english|"
        r"phrase)|shorten this|turn this into|release notes? for|classify|label (?:this|these|each|"
        r"the)|(?:create|add|write|make|set up|generate) .{2,60}(?:with|containing|listing|including) (?:\w+ ){0,2}(?:rules|guidelines|conventions|entries|lines|sections|wording)|complete the (?:sentence|text|phrase)|fill (?:in |out )?.*(?:dummy|fake|sample)|"
        r"look at (?:this|the) (?:snippet|sentence|text|quote)|assume the following|summari[sz]e|"
        r"paraphrase|rephrase|proofread|reword|rewrite (?:this|the) (?:sentence|paragraph|text|mail)|"
        r"explain (?:this|the following|what|why|how)|what does (?:this|that|it)|test (?:if|whether|"
        r"that)|assert|check (?:if|whether|that)|make sure (?:the test|it)|imagine)|^i(?:'d like| want| need) (?:an?|some) (?:\w+ ){0,3}(?:text|mail|e-mail|note|memo|letter|paragraph|post|announcement|message) "
        r"(?:saying|that says|telling|about|for)|\b(?:sentence|"
        r"text|phrase|paragraph|line) (?:that )?i want (?:\w+ )?(?:translated|rewritten|checked)|"
        r"\b(?:(?:seed|sample|dummy|fake|example) (?:data|text|sentence|input|output)|test (?:data|text|sentence))\b|"
        r"thought experiment|the (?:chapter|book|novel|story|scene|talk|"
        r"article) (?:that )?i'm writing|\bthe (?:text|message|label|button|toast|tooltip|template|"
        r"title|sentence|header|heading|string|error|comment|doc|docstring|placeholder|"
        r"copy) (?:should|must|shall|has to|needs to) (?:say|read|contain|be _|be [\"'])"
    ),
    hearsay=re.compile(
        r"\b(?:(?:my|a|the|our|their|his|her|some|this|that|one) (?:[\w'-]+ ){0,3}(?:coworker|colleague|"
        r"friend|boss|reviewer|rfc|law|linter|compiler|checklist|customer|client|user|vendor|article|blog|post|page|book|paper|guide|"
        r"tutorial|docs?|documentation|manual|handbook|advert|ad|job advert|tutorial|podcast|mail|"
        r"e-mail|ticket|spec|standard|readme|style guide|video|thread|answer|comment|website|site|faq|"
        r"log|output|error|message|llm|model|chatgpt|copilot|gpt)s? (?:(?:you|i|we|that|from|in|on|of|"
        r"at)(?:'\w+)? (?:\w+ ){1,4})?(?:says?|insists? that|preaches|advocates|said|reads?|states?|stated|claims?|claimed|writes?|wrote|"
        r"recommends?|recommended|suggests?|suggested|mentions?|mentioned|tells?|told|thinks?|thought|"
        r"advises?|advised|reads?|argues?)|(?:people|they|someone|somebody|everyone|"
        r"everybody|some|many|experts|reddit|stack ?overflow|google|the internet|he|she) (?:says?|"
        r"said|claims?|claimed|recommends?|suggests?|argues?|writes?|wrote|swears?)|"
        r"(?:the|my|our|their|his|her) (?:old|previous|former|last|ex-?|original|other) (?:team|devs?|developers?|company|agency|"
        r"contractors?|owners?|maintainers?|guys?|people|employer|job|colleagues?|boss|manager|lead|admins?|consultants?)(?:'s)? (?:\w+ )?\w+|"
        r"^(?:so |well |anyway,? )?(?:back (?:in|when|then)|in the (?:old|early) days|years ago|at my (?:old|last|previous) \w+|"
        r"in my (?:old|last|previous) \w+|when i was an?|(?:we|i|they) used to)\b(?!.*\b(?:now|instead|since|no longer|any ?more|these days)\b)|"
        r"according to (?!(?:our|my) )|i (?:read|heard|saw)(?: somewhere| that| once| on)|in (?:the|"
        r"an|that|this) (?:article|book|talk|tutorial|blog)|a colleague of mine|friend of mine|"
        r"\w+ (?:says|said|wrote|writes):? [\"“'])"
    ),
    banter=words(
        r"(?:oh |yeah |yes |well )?sure,? (?:because|let's|why not)|oh sure|yeah,? (?:right|sure)|sure,? and|who needs|"
        r"just kidding|kidding|jk|/s|sarcasm|lol|lmao|haha+|hehe+|rofl|(?:great|wonderful|fantastic|"
        r"perfect|brilliant|lovely|just),? (?:another|what i needed|what we needed)|says nothing like|"
        r"says quality like|nothing says|good luck with that|in your dreams|what could go wrong|"
        r"have a (?:nice|good|great)|never mind|nevermind|you never disappoint|my bad|"
        r"thank you so much|i (?:always|never) (?:forget|remember|understand|know|mix|confuse|mess|wonder|get (?:why|how|what))|im(?:h)?o|tbh|a mess|to be honest|"
        r"i can never remember|i keep forgetting"
    ),
    hedge=words(
        r"i (?:think|guess|believe|suppose|assume|suspect|reckon|imagine)|(?:we|they) (?:think|"
        r"believe|suspect)|maybe|perhaps|probably|possibly|presumably|supposedly|apparently|allegedly|"
        r"(?:it |that )?(?:seems?|appears?|looks like|sounds like)|might(?: be| have)?|(?:it|that|"
        r"this|there|which|he|she|they) may (?:be|have)|could be|could have been|iirc|afaik|"
        r"if i (?:remember|recall)(?: correctly| right| it right)?|as far as i (?:know|remember|"
        r"can tell)|from what i (?:know|can see|remember|gather)|in my memory|likely|"
        r"more often than not|unless something changed?|or so|kind of|sort of|i'd (?:guess|say|"
        r"probably)|must have been|my guess|(?:i'm )?leaning|reportedly|i vaguely"
    ),
    unsure=words(
        r"not (?:so |entirely |quite |really |completely |100% |totally )?sure|no idea|don't (?:know|"
        r"remember|recall)|do not (?:know|remember)|can't (?:remember|recall|say|tell)|(?:could|may|"
        r"might) be wrong|don't quote me|i'd (?:have|need) to (?:ask|look|check)|have to (?:ask|"
        r"look it up|check)|who knows|not certain|unsure|i forget|correct me if|maybe .* not sure|"
        r"or was it|or is it"
    ),
    temporary=words(
        r"for now|for the moment|for the time being|(?:just|only) (?:this|that) (?:once|one|time)|"
        r"this (?:one )?time(?: only)?|this once|just once|temporarily|temporary|for today|"
        r"(?<!from )(?<!as of )(?<!learned )(?<!learnt )(?<!decided )(?<!agreed )today|tonight|"
        r"tomorrow|right now|at the moment|for a (?:moment|minute|second|bit|while|quick \w+)|"
        r"quick(?:ly)? (?:test|check|try|hack)|until (?:monday|tuesday|wednesday|thursday|friday|"
        r"tomorrow|later|then|the demo|we know|i'm back)|(?:in|for|of|to|on) this (?:one|draft|mail|"
        r"e-?mail|slide|file|function|method|class|component|test|case|page|loop|query|view|screen|"
        r"script|module|dialog|form|chart|endpoint|image|section|paragraph|line|block|cell|call|run|"
        r"commit|pr|branch|migration|sprint|task|ticket|issue|example|demo|prototype|script|answer|"
        r"reply|table|snippet|session|round|iteration)|we can do that later|i'll (?:clean|fix|do|"
        r"change|look at) .*(?:later|tomorrow)|see what happens|just (?:want|trying|testing|playing)|"
        r"prototype|ad hoc|for the demo|this (?:week|morning|afternoon|evening)|let's (?:see|try)|"
        r"wait until|until (?:the \w+ (?:is|are)|we(?:'re| are)|they|it's)|while (?:we're|i'm|we are|i am) \w+ing|as long as i'm|first (?:draft|pass)|one-off|since (?:\d|this|yesterday|last|a|the last)\S*|"
        r"(?:we're|i'm|we are|i am|we keep|i keep) (?:seeing|getting|having|hitting|stuck)"
    ),
    task=TASK,
    durable=words(
        r"always|never|ever|from now on|from here on(?: out)?|going forward|from today on|"
        r"in (?:the )?future|henceforth|everywhere|throughout|here and in future|by default|as a rule|as a habit|"
        r"generally|in general|whenever|every ?time|each time|every (?:single )?(?!day|thing|body|occurrence|instance|usage|reference|mention|place|spot|"
        r"one)\w+|each (?:new |single )?(?:commit|file|test|pr|branch|answer|reply|release|deploy|"
        r"function|module|message|change|service|table|line|class|component|time|method|migration)|"
        r"in all (?:my|our|the|your|cases|of)?|for all (?:my|our|the|new|your)?|all (?:my|our|new|"
        r"future|your|the) \w+|any ?more|no longer|in (?:this|our|the) (?:repo|repository|project|"
        r"codebase|code base|monorepo|workspace|app|team|org|company|lab|house)|across the (?:board|"
        r"codebase|repo|project)|(?:without|no) exceptions?|consistently|(?:at all )?times|"
        r"under no circumstances|unless i (?:ask|say|tell)|until i (?:say|tell)|when(?:ever)? (?:you|"
        r"i) (?:show|write|give|answer|explain|ask|add|change|touch|create|commit|review|make|edit|"
        r"suggest)|whatever you \w+|if you're (?:unsure|not sure)|by (?:convention|policy)|for good|"
        r"as usual for"
    ),
    dangling=re.compile(
        r"^(?:(?:and|but|so|then|or|hence|thus|also|still|yet|actually|now|again|even|only),? )*(?:it(?! (?:took|cost) (?:me|us)\b| turn(?:s|ed) out|(?:'s| is) (?:official|forbidden|important that))|(?:took|cost) (?:me|us)|"
        r"its|it's|it'll|it'd|(?:this|that|these|those)(?! (?:repo|repository|project|codebase|monorepo|service|app|"
        r"application|product|team|company|library|package|machine|laptop|site|website|database|cluster|system|tool|"
        r"org|year|quarter|month)s?\b)|that's(?! .{3,60}(?:behind us|done|finished|through|in place)\b)|this's|they|they're|them|their|he|she|his|her|"
        r"him|there(?! (?:is|are|was|were|has|have|will|must|should|can|isn't|aren't)\b|'s)|such|"
        r"the (?:same|other|others|latter|former|second|first|rest|one|ones)|one of them|none of them|"
        r"same|here|here's|both|neither|else|which|otherwise|because(?!.*,))(?![\w'-])"
    ),
    opener=re.compile(
        r"^(?:(?:remember|do not forget|don't forget) to (?=(?:always|never)\b)|"
        r"[^,:]{0,30},? ?(?:final (?:answer|decision|call|verdict)|changed (?:our|my) minds?)(?: [^:,]{2,40})?:\s+|"
        r"(?:ok(?:ay)?|k|so|well|hey|hi|hello|oh|ah|hm+|um|and|but|also|yes|yep|yeah|no|nope|nah|"
        r"right|great|nice|cool|thanks|thank you|thx|good|perfect|sure|alright|anyway|anyways|"
        r"actually|basically|honestly|btw|by the way|fyi|for your information|for the record|"
        r"it (?:was|has been|is|'s been) (?:now )?(?:decided|agreed|settled)(?: (?:on|in|at|by|last|this) [\w' ]{2,25}?)?(?= that)|"
        r"heads[- ]up|just so you know|just fyi|psa|note|note to self|please note|nb|n\.b\.|"
        r"one more thing|one thing|another thing|oh and|side note|remember|please remember|"
        r"keep in mind|bear in mind|(?:save|store|keep|record|write|jot|note) this(?: down)?|for (?:your|the) (?:notes|memory|records)|don't forget|do not forget|never forget|for future reference|you (?:should|need to|must|ought to) know|for context|some (?:background|context)|"
        r"(?:good|worth) (?:to know|knowing|remembering|noting)|to be (?:clear|precise|exact|specific)|just to be (?:clear|sure)|"
        r"(?:a )?(?:quick|short|little|bit of) (?:background|context)(?: (?:first|before we (?:start|begin)|up front))?(?=[:,] (?!(?:this|that|it|these|there|here)\b))|"
        r"for reference|as a reminder|reminder|quick note|important|please|pls|from now on|"
        r"from here on(?: out)?|going forward|in (?:the )?future|as (?:i )?said|as mentioned|"
        r"as agreed|again|once again|turns out|it turns out|turned out|lesson learn(?:ed|"
        r"t)(?: the hard way)?|lesson|decision|decided|fact|memo|info|update|first|second|"
        r"first of all|also|finally|lastly|then|now|you know|see|look|listen|wait|sorry|understood|"
        r"got it|exactly|agreed|makes sense|fair enough|good (?:point|catch|to know|"
        r"analysis))(?:(?:\s*[:,.!—–]+\s*|\s+-+\s+)(?:that\s+)?|\s+that\s+(?=\S+\s+\S+)|(?:(?<=fyi)|"
        r"(?<=btw)|(?<=remember)|(?<=note)|(?<=heads up)|(?<=from now on)|"
        r"(?<=going forward))\s+(?!to\b)|(?:(?<=^so)|(?<=^ok)|(?<=^okay)|(?<=^hey)|(?<=^well)|(?<=^oh)|(?<=^and)|(?<=^but)|(?<=^also)|(?<=^plus)|"
        r"(?<=^basically)|(?<=^actually)|(?<=^please)|(?<=^pls))\s+(?=\S+\s+\S+)))"
    ),
    clause=re.compile(
        r",\s+(?:and then |and |so |then |but |now |also |please )?|\s+[-–—]{1,2}\s+|"
        r"\s+(?=so (?:please|can you|could you)\b)|\s+(?:and|so|then)\s+(?=(?:please|can you|"
        r"could you)\b)|:\s+"
    ),
    changed=words(
        r"now|instead|from now on|anymore|any more|no longer|(?:raised|increased|lowered|reduced|"
        r"bumped|upgraded|downgraded|changed|moved|switched|migrated|renamed|replaced|extended|"
        r"shortened|dropped)|(?:switch|switching|move|moving|migrat(?:e|ing)|chang(?:e|ing)|"
        r"go(?:ing)?) (?:back )?(?:over )?to|actually|after all|final (?:answer|decision|call|verdict)|changed our minds?|back to|rather than"
    ),
    personal=re.compile(
        r"\b(?:i|i'm|i've|i'd|my|me|myself|mine)\b|\b(?:answer|answers|reply|replies|respond|response|"
        r"responses|explain|explanations?|talk to|address|tone|emojis?|summar(?:y|ise|ize)|speak|you|"
        r"your)\b"
    ),
    trivial=words(
        r"(?:made|found|saw|there(?:'s| is| was)|had|just|my) (?:a |an |the |that |one )?(?:\w+ )?typo|^typo|forgot(?:ten)?|my (?:fault|mistake)|wrong (?:file|folder|branch|directory|window|"
        r"button)|misspelled|coffee|works (?:fine|now)|it works|everything (?:else )?works"
    ),
    revokes=(
        words(
            r"(?<!don't )(?<!dont )(?<!not )(?<!never )(?:scrap|scratch|forget(?: about)?|ditch|cancel|"
            r"abandon|revoke|retire|drop(?= (?:the|that|our|my) [^,.;!?]{0,40}(?:idea|plan|rule|approach|"
            r"requirement|decision|convention|policy))) (?P<what>(?:the|that|our|my|what i said about|"
            r"all that|this) [^,.;!?]{3,80}?)(?=[,.;!]|$| and | - | instead| from now)"
        ),
        words(
            r"(?:we|i)(?:'ve| have|'re| are)? (?:now |finally |just |also )?(?:dropped|scrapped|ditched|"
            r"abandoned|dropping|scrapping|ditching|abandoning|gave up on|given up on|moved away from|"
            r"moving away from|got rid of|stopped using|no longer (?:use|support|need|have|run|want|do)|"
            r"retired|killed|killing|are done with|done with|removed|"
            r"phased out) (?P<what>[^,.;!?]{2,80}?)(?=[,.;!]|$| and | for good| in favou?r)"
        ),
        re.compile(
            r"^(?:(?:and|so|ok|okay|actually),? )*(?P<what>[^,.;!?]{2,60}?) (?:no longer (?:appl(?:y|ies)|holds?|counts?|exists?)\b|(?:is|are|was|were|has been|"
            r"have been|gets?|got) (?:gone|history|void|obsolete|off the table|no longer (?:valid|used|"
            r"supported|needed|the case)|not (?:used|valid|needed) any ?more|abandoned|cancell?ed|dropped|"
            r"scrapped|retired|reversed|overturned|being removed)\b)"
        ),
        re.compile(
            r"^(?:(?:and|so|ok|okay|actually|no|please),? )*(?:don't|do not|never|stop|no need to|"
            r"you needn't|you don't have to|no) (?P<what>[^,.;!?]{3,80}?) (?:any ?more|any longer)\b"
        ),
        re.compile(
            r"^(?:(?:and|so|ok|okay|actually),? )*(?:no (?:more|longer)|goodbye|bye|"
            r"farewell) (?P<what>[^,.;:!?]{2,60})"
        ),
        re.compile(
            r"(?P<what>the (?:decision|rule|plan|agreement|ban|requirement|convention|policy) (?:for|"
            r"about|of|on|to|against|that) [^,.;!?]{2,60}?) (?:is|was|has been|no longer) (?:void|off|"
            r"gone|dropped|lifted|cancell?ed|reversed|applies|obsolete|not valid)"
        ),
    ),
    instead=(
        words(
            r"(?:we|i)(?:'ve| have)? changed (?:our|my) minds? (?:about|on|regarding) (?P<what>[^,.;:!?]{2,60}?)"
            r"(?=[,.;:!?]| and | from now |$)"
        ),
        words(
            r"(?:instead of|replac(?:es|ed|ing)|in place of) (?P<what>[^,.;!?]{2,60}?)(?=[,.;!]|$| by |"
            r" with | for | from )"
        ),
        words(
            r"(?:switch(?:ed|ing)?|mov(?:ed|ing|e)|migrat(?:ed|ing|e)|chang(?:ed|ing|"
            r"e)) (?:over )?from (?P<what>[^,.;!?]{2,50}?) (?:over )?to"
        ),
    ),
    causes=words(
        r"(?:the )?(?:root )?cause(?: found)?(?: was| is|:)|root cause|(?:the )?(?:real |"
        r"actual )?(?:reason|culprit|problem|issue|bug)(?: for .{3,60}| behind .{3,60}|"
        r" why .{3,60})? (?:was|is|turned out)|reason for .{3,80}:|turn(?:s|ed) out|lesson|(?:failed|"
        r"broke|crashed|hung|was slow|were killed|is lost|is slow|come|comes|came) (?:because|since|"
        r"as|from)|which explains|(?:i )?(?:found|discovered) (?:out )?that|what (?:broke|helped|"
        r"fixed|solved)|has to be .{3,60}(?:as|because|since)|only (?:occurs|happens|shows up|"
        r"appears) (?:with|when|on|in)|the bug had nothing to do"
    ),
    cues=CUES + FACTS,
)
