"""What the OfflineProvider says, in English and Spanish. Text only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Everything it can say in one language; `{}` is filled in."""

    no_model: str
    """The first words of the first answer of every conversation."""
    model_away: str
    """The first words of every answer where the rules stand in for a model."""
    greeting: str
    abilities: str
    stored: str
    not_stored: str
    noted: str
    """Where nothing can be stored but what was said stands in the conversation."""
    remembered: str
    perhaps: str
    nothing_remembered: str
    passage: str
    nothing_found: str
    weekdays: tuple[str, ...]
    unknown_place: str
    missing_tool: str
    unavailable: str
    service_names: dict[str, str]


ENGLISH = Phrases(
    no_model="(No language model is configured; I follow simple rules.)",
    model_away="(My language model is away; I follow simple rules.)",
    greeting="Hello!",
    abilities=(
        "I can remember things (“remember that …”, “my name is …”), say what I know "
        "(“what do you know about …?”), tell the time (“what time is it in Tokyo?”), calculate "
        "(“what is 12*7+3?”) and quote from your documents."
    ),
    stored="I will remember: {}.",
    not_stored="I could not store that: {}",
    noted="Noted in this conversation: {}.",
    remembered="This is what I remember:",
    perhaps="I remember nothing with these words. Perhaps one of these means it:",
    nothing_remembered="I remember nothing about that.",
    passage="From {}:",
    nothing_found="I found nothing about that in memory or documents.",
    weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    unknown_place="I know no time zone for {!r}; try a larger city near it.",
    missing_tool="That needs the tool {}, which I do not have here.",
    unavailable="(Not reachable right now: {}.)",
    service_names={},
)

SPANISH = Phrases(
    no_model="(No hay ningún modelo de lenguaje configurado; sigo reglas sencillas.)",
    model_away="(Mi modelo de lenguaje no está disponible; sigo reglas sencillas.)",
    greeting="¡Hola!",
    abilities=(
        "Puedo recordar cosas («recuerda que …», «me llamo …»), decir lo que sé "
        "(«¿qué sabes de …?»), dar la hora («¿qué hora es en Tokio?»), calcular "
        "(«¿cuánto es 12*7+3?») y citar tus documentos."
    ),
    stored="Lo recordaré: {}.",
    not_stored="No he podido guardarlo: {}",
    noted="Anotado en esta conversación: {}.",
    remembered="Esto es lo que recuerdo:",
    perhaps="No recuerdo nada con esas palabras. Quizá lo diga uno de estos:",
    nothing_remembered="No recuerdo nada sobre eso.",
    passage="De {}:",
    nothing_found="No he encontrado nada sobre eso en la memoria ni en los documentos.",
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    unknown_place="No conozco la zona horaria de {!r}; prueba con una ciudad mayor y cercana.",
    missing_tool="Para eso hace falta la herramienta {}, que aquí no tengo.",
    unavailable="(Ahora no se puede acceder a: {}.)",
    service_names={"memory": "memoria", "documents": "documentos", "tools": "herramientas"},
)

PHRASES = {"en": ENGLISH, "es": SPANISH}
