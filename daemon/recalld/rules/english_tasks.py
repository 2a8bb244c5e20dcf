"""English: how work is asked for."""

from __future__ import annotations

import re

SOFT = (
    r"(?:(?:please|pls|just|now|then|also|first|next|and|so|no(?=,| (?:use|please|just|don't|do|leave|keep|put)\b)|nope|well|actually|oh|hey|ok|okay|"
    r"again|quickly|simply|maybe|meanwhile|kindly),? ){0,4}"
)
_VERBS = (
    "add|adapt|adjust|align|analy[sz]e|apply|ask|attach|back up|break|bring|build|bump|bundle|call|cancel|"
    "change|check|clean|clear|clone|close|collect|combine|comment|commit|compare|compile|compress|compute|"
    "configure|connect|convert|copy|correct|count|create|cut|debug|define|delete|deploy|describe|diff|"
    "disable|do|document|double|download|draft|draw|drop|dump|edit|enable|estimate|examine|execute|expand|"
    "explain|export|extend|extract|figure|fill|filter|find|finish|fix|follow|format|generate|get|give|go|"
    "grep|group|guess|handle|help|hide|highlight|hook|implement|import|improve|include|increase|decrease|"
    "inline|insert|inspect|install|integrate|investigate|join|keep|kill|launch|leave|let|let's|lets|limit|"
    "link|lint|list|load|log|look|lower|make|mark|measure|merge|migrate|mock|mount|move|name|open|"
    "optimi[sz]e|order|pack|parse|paste|patch|pick|ping|plot|point|polish|port|prepare|print|profile|"
    "propose|provide|publish|pull|push|put|query|raise|read|rebase|rebuild|record|reduce|refactor|"
    "reformat|regenerate|release|reload|remove|rename|render|replace|reproduce|rerun|reset|resize|resolve|"
    "restart|restore|retry|return|reuse|revert|review|rewrite|rip|roll|run|save|scaffold|scan|search|see|"
    "select|send|separate|set|shorten|show|simplify|skip|sketch|solve|sort|specify|split|squash|stage|"
    "start|stash|stop|store|stub|style|suggest|summari[sz]e|swap|switch|sync|tag|take|tell|test|tidy|"
    "toggle|trace|track|transform|translate|trigger|trim|try|tune|turn|undo|uninstall|unpack|update|"
    "upgrade|upload|use|validate|verify|wait|walk|wire|wrap|write|zip|center|centre|colou?r|work|continue|"
    "proceed|carry on"
)
_COMPOUND = (  # "log search goes through X", "release notes are sent": a subject with its verb, no order
    r"(?:(?!(?:the|an?|that|this|these|those|it|what|which|who|whose|if|whether|where|when|how|why|all|every|any|some|"
    r"my|our|your|their|its|me|us|you|them|sure|and|or|to|so|as|until|till|because|before|after)\b)[\w./-]+ ){1,3}"
    r"(?:(?:always|never|only|now|also|still|all) )?(?:is|are|has|have|goes|go|runs?|lives?|must|may|needs?|comes?|"
    r"gets?|stays?|belongs?|happens?|uses?|takes?|listens?|starts?|ends?|sits?|ships?|expires?|lasts?)\b(?! (?:it|this|that)\b)"
)
TASK = re.compile(
    r"^" + SOFT + r"(?:(?:can|could|would|will) (?:you|we)|(?:i|we)(?:'d| would) (?:like|love) (?:you )?to|"
    r"i (?:want|need) you to|(?:i|we) (?:want|need) (?:a|an|the|some|to)|i have (?:a|an|two|three|"
    r"some) .{2,80} (?:and|but) (?:i )?(?:want|need|would like)|help me|let me|have a look|take a look|let's|lets|"
    r"you (?:can|could|may|should now)(?![\w'])(?! be\b)|go ahead|mind (?:adding|fixing|changing)|time to|feel free|"
    r"remember to|don't forget to|make sure(?: (?:to|that|you|it|the))?|(?:i'll|i will|"
    r"i am going to|i'm going to) \w+|(?:that|this|it) (?:should|needs to|must|has to)|(?:"
    + _VERBS
    + r")(?: |$|,)(?!"
    + _COMPOUND
    + r")|(?:don't|do not|dont) (?:touch|change|delete|remove|forget|worry|commit|push|"
    r"merge|run|move|rename|deploy|install|edit|do|add|use|make|write|start|stop|break|create)\b)"
)
