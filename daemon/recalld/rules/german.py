"""German: a start, for what is said outright."""

from __future__ import annotations

import re

from recalld.model import Scope, Type
from recalld.rules.table import Language, cue, words

_SOFT = r"(?:(?:bitte|jetzt|dann|und|also|auch|mal|noch|ok|okay|nun) ){0,3}"

GERMAN = Language(
    code="de",
    tag=re.compile(r",? (?:oder|ok|okay|ja|klar|gell|verstanden)\?$"),
    question=re.compile(
        r"\?[\"“]?$|^(?:und |aber |also )?(?:warum|wieso|weshalb|wie|was|wer|wo|wann|welche[rsnm]?|"
        r"kannst|könntest|könnte|kann|ist|sind|hat|haben|soll|sollen|sollte|sollten|gibt|darf|muss|"
        r"müssen) (?:du|ich|wir|man|es|das|der|die|ein|eine|sie|unser|unsere)?"
    ),
    hypothetical=re.compile(
        r"^(?:wenn|falls|angenommen|stell dir|nehmen wir an).*(?:würde|könnte|wäre|hätte)|"
        r"\b(?:könnten wir|wir könnten|man könnte|würde(?:n)? (?:ich|wir))\b|^(?:angenommen|"
        r"nehmen wir an|stell dir vor)"
    ),
    undecided=words(
        r"noch nicht (?:entschieden|klar|sicher)|unentschieden|überlege[n]?|mal sehen|"
        r"steht noch nicht fest"
    ),
    generated=re.compile(
        r"^" + _SOFT + r"(?:übersetze?|fasse? .* zusammen|schreibe? .*(?:text|mail|brief|geschichte|satz|absatz|"
        r"meldung|beispiel)|formuliere?|entwirf|erkläre?)\b"
    ),
    hearsay=words(
        r"(?:laut|gemäß) \w+|(?:kollege|kollegin|kunde|doku|artikel|er|sie|jemand|man) (?:sagt|meint|"
        r"schreibt|behauptet|empfiehlt)|habe (?:gehört|gelesen)"
    ),
    banter=words(r"haha|scherz|ironie|na klar|danke|super gemacht|schönes wochenende"),
    hedge=words(
        r"(?:ich )?glaub[e]?|(?:ich )?denke|vielleicht|wahrscheinlich|vermutlich|wohl|möglicherweise|"
        r"eventuell|scheinbar|anscheinend|soweit ich weiß|könnte|dürfte|irgendwie"
    ),
    unsure=words(
        r"nicht (?:ganz |so |wirklich )?sicher|weiß (?:es )?nicht|keine ahnung|kann mich irren|"
        r"ohne gewähr"
    ),
    temporary=words(
        r"erst ?mal|vorerst|heute|morgen|nur (?:dieses|diesmal|jetzt)|diesmal|gerade|kurz|vorläufig|"
        r"im moment|in dieser (?:datei|funktion)|probeweise"
    ),
    task=re.compile(
        r"^" + _SOFT + r"(?:(?:kannst|könntest) du|mach|füge?|ändere?|lösch|entferne?|benenne?|erstelle?|schreib|"
        r"zeig|prüfe?|schau|teste?|starte?|baue?|passe?|stell|nimm|räum|kopiere?|verschiebe?|"
        r"implementiere?|trag|setz|leg|pack|bring|führ|dreh|zieh|häng|schalt|rechne|such|hol|schick|korrigiere|aktualisiere|sortiere|hilf|gib|lass|die .{1,40} (?:umstellen|anpassen|ändern|löschen)|"
        r"(?:bitte )?.{1,60} (?:umstellen|anpassen|ändern|löschen|einbauen|hinzufügen|entfernen|"
        r"umbenennen)[.!]?$)(?: |$)?"
    ),
    durable=words(
        r"immer|nie|niemals|ab (?:jetzt|sofort|heute)|von (?:jetzt|nun) an|künftig|zukünftig|"
        r"in zukunft|grundsätzlich|überall|jede[rsmn]?|alle[nrs]?|nicht mehr|keine? .{1,30} mehr|"
        r"ausnahmslos|standardmäßig|nur noch"
    ),
    dangling=re.compile(
        r"^(?:und |aber |denn |weil |also |dann )*(?:es|das(?= (?:ist|war|wird|hat|geht|gilt|muss|"
        r"soll|sind))|dies|diese[rsmn]?(?= (?:ist|war|wird|sind))|er|sie|ihn|ihm|dort|da|so|dadurch|"
        r"deshalb|daher|dabei)\b"
    ),
    opener=re.compile(
        r"^(?:ok(?:ay)?|ja|nein|gut|also|so|hallo|hi|danke|super|übrigens|nebenbei|außerdem|und|aber|"
        r"merk(?:e)?(?: dir)?(?: bitte)?|bitte merken|denk(?:e)? (?:bitte )?da?ran|nicht vergessen|wichtig|"
        r"achtung|hinweis|zur info|info|fyi|notiz|entscheidung|regel|status|ab (?:jetzt|sofort)|"
        r"von (?:jetzt|nun) an|künftig|in zukunft|bitte|wir haben (?:entschieden|beschlossen|"
        r"vereinbart)(?=,? dass))(?:\s*[:,.!–-]+\s*(?:dass\s+)?|\s+dass\s+)"
    ),
    clause=re.compile(r",\s+(?:und |also |dann |bitte )?|\s+[-–—]\s+|:\s+"),
    changed=words(
        r"jetzt|nun|stattdessen|statt|nicht mehr|ab (?:jetzt|sofort)|umgestellt|gewechselt|geändert|"
        r"erhöht|gesenkt|ersetzt|wieder|doch"
    ),
    personal=re.compile(r"\b(?:ich|mir|mich|mein\w*|antwort\w*|erklär\w*|emojis?|du|dir)\b"),
    trivial=words(r"tippfehler|vertippt|vergessen zu"),
    revokes=(
        re.compile(
            r"^(?P<what>[^,.;!?]{2,50}?) (?:fliegt (?:wieder )?raus|ist (?:weg|raus|gestrichen|hinfällig|"
            r"vom tisch|abgeschafft|geschichte)|entfällt|wird (?:abgeschafft|abgelöst|ersetzt)|"
            r"gilt nicht mehr)"
        ),
        words(
            r"(?:wir )?(?:verzichten auf|streichen|verwerfen|schaffen|verwenden|nutzen|nehmen|"
            r"benutzen) (?P<what>[^,.;!?]{2,50}?) (?:nicht mehr|ab)"
        ),
        words(r"keine? (?P<what>[^,.;!?]{2,40}?) mehr"),
    ),
    instead=(words(r"(?:statt|anstelle von|anstatt) (?P<what>[^,.;!?]{2,40})"),),
    causes=words(r"ursache|der grund (?:war|ist)|lag daran|schuld (?:war|ist)"),
    cues=(
        cue(
            None,
            0.95,
            r"merk(?:e)? (?:dir|euch)|merke?(?=:)|bitte merken|nicht vergessen|denk(?:e)? (?:bitte )?da?ran|zur info|"
            r"fürs protokoll|behalte? im kopf",
            explicit=True,
        ),
        cue(
            Type.LESSON,
            0.9,
            r"gelernt|lektion|erkenntnis|ursache (?:war|ist)|lag daran|nie wieder|hat sich herausgestellt|"
            r"stellte sich heraus|herausgefunden|stunden gekostet",
        ),
        cue(
            Type.DECISION,
            0.92,
            r"(?:wir|ich|das team) (?:haben|habe|hat)(?: uns| mich| sich)? .{0,60}(?:entschieden|"
            r"beschlossen|vereinbart|geeinigt|festgelegt)|haben (?:entschieden|beschlossen|vereinbart)|"
            r"wir (?:nehmen|nutzen|verwenden|setzen|steigen|wechseln|bleiben|verzichten|stellen)(?: jetzt|"
            r" ab jetzt| künftig)?|entscheidung:|beschluss:|steht fest|ist (?:entschieden|beschlossen|"
            r"gesetzt)|fliegt (?:wieder )?raus|nur noch",
        ),
        cue(
            Type.PREFERENCE,
            0.92,
            r"ich (?:bevorzuge|mag|hasse|möchte|will|arbeite|nutze|schreibe) (?:\w+ ){0,4}(?:immer|nie|"
            r"lieber|keine?|nur|kein)|ich (?:bevorzuge|mag|hasse)|ich .{0,30}lieber|(?:ab jetzt|ab sofort|"
            r"künftig|von nun an|in zukunft) .{3,}|^(?:bitte )?(?:immer|nie|niemals)|"
            r"(?:bitte )?keine? .{2,40} mehr|nenn mich|antworte? .{0,20}(?:auf deutsch|auf englisch|kurz|"
            r"knapp)",
        ),
        cue(
            Type.PREFERENCE,
            0.85,
            r"(?:unsere|die) (?:regel|konvention|vereinbarung)|bei uns (?:gilt|heißt|ist)|regel:|"
            r"konvention:",
        ),
        cue(
            Type.FACT,
            0.9,
            r"ich (?:heiße|bin (?:ein|eine|der|die|entwickler|farbenblind|auf|neu|student))|mein name ist",
            scope=Scope.USER,
        ),
        cue(
            Type.FACT,
            0.8,
            r"(?:unser|unsere|unserer|unserem) [\w./ -]{2,50}? (?:ist|sind|läuft|laufen|liegt|hat|haben|"
            r"nutzt|steht|braucht|verwendet)|wir (?:haben|betreiben|hosten|verwenden|nutzen|speichern)|"
            r"(?:der|die|das) [\w./ -]{2,40}? (?:läuft auf|läuft unter|liegt (?:in|auf|unter)|heißt|"
            r"kommt immer|kommen immer|steht in|hört auf)|in diesem (?:projekt|repo)",
        ),
        cue(
            Type.PROGRESS,
            0.9,
            r"(?:ist|sind|wurde|wurden) (?:jetzt |nun |alle |endlich )?(?:fertig|erledigt|abgeschlossen|"
            r"gemergt|umgestellt|durch)|als nächstes|es fehlt (?:noch|nur)|fehlt noch|^(?:fertig|erledigt|"
            r"status|stand):",
        ),
    ),
)
