"""Spanish: a start, for what is said outright."""

from __future__ import annotations

import re

from recalld.model import Scope, Type
from recalld.rules.table import Language, cue, words

_SOFT = r"(?:(?:por favor|ahora|luego|y|también|pues|ok|bueno|entonces),? ){0,3}"

SPANISH = Language(
    code="es",
    tag=re.compile(r",? ¿?(?:vale|ok|sí|no|verdad|de acuerdo|entendido)\?$"),
    question=re.compile(r"\?[\"»]?$|^[¿]|^(?:por qué|cómo|cuál|cuándo|dónde|quién|puedes|podrías|podemos)\b"),
    hypothetical=re.compile(
        r"^(?:si|supongamos|imagina|suponiendo).*(?:ría|ríamos|ramos|semos|era)\b|\b(?:podríamos|"
        r"se podría|sería|habría que ver)\b|^(?:supongamos|imagina)"
    ),
    undecided=words(
        r"no (?:hemos|he|está) decidid[oa]|(?:aún|todavía) no (?:decid|elegi|sabemos)\w*|aún no|"
        r"todavía no (?:sabemos|está claro|lo)|pendiente de decidir|estamos (?:pensando|valorando)|"
        r"ya veremos"
    ),
    generated=re.compile(
        r"^" + _SOFT + r"(?:traduce|resume|redacta|escribe .*(?:texto|correo|carta|historia|frase|párrafo|anuncio|"
        r"ejemplo)|inventa|explica|reescribe)\b"
    ),
    hearsay=words(
        r"según \w+|(?:el cliente|mi compañero|la documentación|el artículo|alguien|él|ella|dicen|"
        r"dice) (?:dice|que|recomienda|sugiere)|he (?:leído|oído)"
    ),
    banter=words(r"jaja+|broma|gracias|buen finde|claro que sí, porque"),
    hedge=words(
        r"creo|quizás?|tal vez|probablemente|posiblemente|seguramente|me parece|parece|a lo mejor|"
        r"debe de|supongo|si no recuerdo mal"
    ),
    unsure=words(
        r"no (?:estoy|sé si) (?:muy |del todo )?(?:segur[oa])?|no lo sé|ni idea|"
        r"puede que me equivoque|no me acuerdo"
    ),
    temporary=words(
        r"por ahora|de momento|hoy|mañana|esta vez|solo (?:por )?esta|temporalmente|"
        r"en este (?:archivo|correo|test)|ahora mismo|por el momento"
    ),
    task=re.compile(
        r"^" + _SOFT + r"(?:¿?(?:puedes|podrías|me puedes)|añade|agrega|cambia|borra|bórral\w+|elimina|quita|crea|"
        r"haz|escribe|muestra|arregla|corrige|revisa|renombra|mueve|ejecuta|prueba|instala|actualiza|"
        r"pon|ponme|dame|mira|busca|ayúdame|genera|sube|despliega|implementa|necesito que)(?:\s|$|,)"
    ),
    durable=words(
        r"siempre|nunca|jamás|a partir de (?:ahora|hoy)|de ahora en adelante|en adelante|en el futuro|"
        r"cada (?:vez|\w+)|tod[oa]s? l[oa]s?|por defecto|ya no|nunca más|sin excepción|"
        r"en este (?:proyecto|repo|repositorio)|nada de"
    ),
    dangling=re.compile(
        r"^(?:y |pero |porque |así que |entonces )*(?:est[oae]s?(?= (?:es|está|son|fue|hay|no|se))|"
        r"es[oae]s?(?= (?:es|está|son|fue|no|se))|eso|esto|ello|él|ella|lo|ahí|allí|aquí|así|además|"
        r"también)\b"
    ),
    opener=re.compile(
        r"^(?:ok|vale|bueno|sí|no|bien|hola|gracias|perfecto|por cierto|además|y|pero|recuerda|"
        r"acuérdate(?: de)?|ten en cuenta|no olvides|nota|ojo|importante|para que (?:lo )?sepas|"
        r"decisión|regla|estado|a partir de ahora|de ahora en adelante|en adelante|por favor|"
        r"(?:hemos decidido|decidimos)(?= que))(?:\s*[:,.!–-]+\s*(?:que\s+)?|\s+que\s+)"
    ),
    clause=re.compile(r",\s+(?:y |así que |luego |por favor |¿)?|\s+[-–—]\s+|:\s+|\s+(?=¿)"),
    changed=words(
        r"ahora|ya no|en vez de|en lugar de|a partir de ahora|cambiamos|cambió|pasa a|pasamos|subimos|"
        r"bajamos|migramos|de nuevo"
    ),
    personal=re.compile(
        r"\b(?:yo|me|mi|mis|respuestas?|responde|respóndeme|contéstame|contesta|explica\w*|emojis?|"
        r"háblame|prefiero|odio|quiero)\b"
    ),
    trivial=words(r"errata|me olvidé"),
    revokes=(
        words(
            r"(?:descartamos|abandonamos|dejamos(?: de usar)?|quitamos|eliminamos|ya no (?:usamos|hay|"
            r"usaremos)|olvida|cancelamos|se acabó) (?P<what>[^,.;!?]{2,50})"
        ),
        words(r"ya no (?:es |son |en |a )?(?P<what>[^,.;!?]{2,40})"),
    ),
    instead=(words(r"(?:en vez de|en lugar de) (?P<what>[^,.;!?]{2,40})"),),
    causes=words(r"la causa (?:era|fue|es)|causa raíz|el problema (?:era|fue)|resulta que|resultó que"),
    cues=(
        cue(
            None,
            0.95,
            r"recuerda(?! si)|acuérdate|ten en cuenta|no (?:te )?olvides|toma nota|que conste|"
            r"para que (?:lo )?sepas",
            explicit=True,
        ),
        cue(
            Type.LESSON,
            0.9,
            r"lección|aprendimos|la causa (?:era|fue|es)|resulta que|resultó que|nunca más|la última vez|"
            r"la vez pasada|nos costó",
        ),
        cue(
            Type.DECISION,
            0.92,
            r"(?:hemos )?decidi(?:do|mos|ó)|(?:hemos )?acordado|acordamos|(?:vamos|nos quedamos|seguimos|"
            r"optamos|apostamos) (?:a usar|con|por)|(?:queda|está) decidido|decisión:|(?:usaremos|"
            r"pasamos a|migramos a|descartamos|cambiamos a)|pasa a",
        ),
        cue(
            Type.PREFERENCE,
            0.92,
            r"prefiero|(?:odio|detesto|no me gusta|me gusta|me gustan|no me gustan)|(?:a partir de ahora|"
            r"de ahora en adelante|en adelante) .{3,}|^(?:por favor,? )?(?:siempre|nunca) .{3,}|"
            r"solo me (?:sirven?|interesan?)|llámame|(?:respóndeme|contéstame|respond[ea]|háblame) .{2,}|"
            r"nada de \w+",
        ),
        cue(Type.PREFERENCE, 0.85, r"(?:nuestra|la) (?:regla|convención|norma)|regla:|por convención"),
        cue(
            Type.FACT,
            0.9,
            r"me llamo|mi nombre es|soy (?:el|la|un|una|desarrollador|diseñador|daltónic)",
            scope=Scope.USER,
        ),
        cue(
            Type.FACT,
            0.8,
            r"(?:nuestr[oa]s?) [\w./ -]{2,50}? (?:es|son|está|están|usa|usan|corre|tiene|vive|va)|"
            r"(?:usamos|tenemos|desplegamos|alojamos|guardamos)|(?:el|la|los|"
            r"las) [\w./ -]{2,40}? (?:se apaga|corre en|está en|se llama|escucha|se hace|vive en|"
            r"se guarda|usa el puerto)|en este (?:proyecto|repo)",
        ),
        cue(
            Type.PROGRESS,
            0.9,
            r"(?:está|están|quedó|ya) (?:list[oa]s?|terminad[oa]s?|hech[oa]s?|fusionad[oa]s?|"
            r"complet[oa]s?)|(?:terminamos|acabamos|falta|faltan|queda por|quedan)|lo siguiente es|"
            r"voy por|^(?:hecho|listo|estado):",
        ),
    ),
)
