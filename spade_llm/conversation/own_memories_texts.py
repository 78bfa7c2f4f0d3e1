"""What the memory agent says to people, in English and Spanish. Text only."""

from __future__ import annotations

from dataclasses import dataclass

from spade_llm.conversation.memory_numbers import ENGLISH_ITEMS, SPANISH_ITEMS, ItemTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Everything it can say in one language; `{}` is filled in."""

    help: str
    items: ItemTexts
    memory: tuple[str, str]
    """One, and several."""
    listed: str
    kept_by: str
    more: str
    how: str
    how_to_correct: str
    nothing: str
    nothing_with_words: str
    no_single: str
    corrected: str
    forgotten: str
    confirm: str
    all_forgotten: str
    allowed: str
    not_allowed: str
    withdrawn: str
    left_out: str


ENGLISH = Texts(
    help="""\
I keep what agents remember. To you ({}) I show what is about you, and whose memory it is:
/memories [words] – list it, newest first
/correct NUMBER new text – say how it really is
/forget NUMBER – remove one memory, and the messages that say it in these words
/forget all – remove everything about you, conversations too
/export – everything about you as JSON, one memory per line
/learn – who may compare your conversations; /learn off – nobody any more
All of it works without the / too. También en español: ayuda""",
    items=ENGLISH_ITEMS,
    memory=("memory", "memories"),
    listed="What is remembered about you, newest first:",
    kept_by="(kept by {}, since {})",
    more="… and {} more: /memories WORDS narrows it down.",
    how="/correct NUMBER new text corrects one, /forget NUMBER removes one.",
    how_to_correct="Write /correct NUMBER and the new text; /memories lists the numbers.",
    nothing="Nothing is remembered about you.",
    nothing_with_words="Nothing with these words is remembered about you.",
    no_single="There is no single memory {!r} about you: /memories lists them.",
    corrected="Corrected:",
    forgotten=(
        "Forgotten, and the messages that said it in these words. Where you said it otherwise, it"
        " is still in your conversations: /forget all removes those too."
    ),
    confirm=(
        "This removes {} about you and your conversations, with every agent, for good."
        " Write /forget all yes if that is what you want."
    ),
    all_forgotten="Forgotten: {} about you, and your conversations.",
    allowed=(
        "You let these compare your conversations with them: {}. /learn off ends that and removes"
        " what came of it."
    ),
    not_allowed=(
        "No agent compares your conversations with it. You can allow it to an assistant by"
        " writing /learn on to it."
    ),
    withdrawn="No agent does that any more, and what came of it is removed.",
    left_out=(
        "({} more do not fit into one message: who runs this server can give you all of them with"
        " `spade-llm memory export`.)"
    ),
)

SPANISH = Texts(
    help="""\
Guardo lo que los agentes recuerdan. A ti ({}) te muestro lo que trata de ti, y de quién es:
/recuerdos [palabras] – lo enumera, lo más nuevo primero
/corregir NÚMERO texto nuevo – di cómo es en realidad
/olvidar NÚMERO – borra un recuerdo, y los mensajes que lo dicen con estas palabras
/olvidar todo – borra todo sobre ti, también las conversaciones
/exportar – todo sobre ti en JSON, un recuerdo por línea
/aprender – quién puede comparar tus conversaciones; /aprender no – ya nadie
Todo funciona también sin la /.""",
    items=SPANISH_ITEMS,
    memory=("recuerdo", "recuerdos"),
    listed="Lo que se recuerda de ti, lo más nuevo primero:",
    kept_by="(lo guarda {}, desde {})",
    more="… y {} más: /recuerdos PALABRAS muestra menos.",
    how="/corregir NÚMERO texto nuevo corrige uno, /olvidar NÚMERO borra uno.",
    how_to_correct="Escribe /corregir NÚMERO y el texto nuevo; /recuerdos da los números.",
    nothing="No se recuerda nada de ti.",
    nothing_with_words="No se recuerda nada de ti con esas palabras.",
    no_single="No hay un solo recuerdo {!r} sobre ti: /recuerdos los enumera.",
    corrected="Corregido:",
    forgotten=(
        "Olvidado, y los mensajes que lo decían con estas palabras. Donde lo dijiste de otro modo"
        " sigue en tus conversaciones: /olvidar todo las borra también."
    ),
    confirm=(
        "Esto borra para siempre {} sobre ti y tus conversaciones, con todos los agentes."
        " Escribe /olvidar todo sí si es lo que quieres."
    ),
    all_forgotten="Olvidado: {} sobre ti, y tus conversaciones.",
    allowed=(
        "Dejas que estos comparen tus conversaciones con ellos: {}. /aprender no lo termina y borra"
        " lo que salió de ello."
    ),
    not_allowed=(
        "Ningún agente compara tus conversaciones con él. Puedes permitírselo a un asistente"
        " escribiéndole /learn on."
    ),
    withdrawn="Ya ningún agente lo hace, y lo que salió de ello está borrado.",
    left_out=(
        "({} más no caben en un mensaje: quien administra este servidor puede dártelos todos con"
        " `spade-llm memory export`.)"
    ),
)
