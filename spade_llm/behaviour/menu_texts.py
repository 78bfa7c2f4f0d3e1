"""What the menus of agents say to people, in English and Spanish. Text only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuTexts:
    about_you: str
    words: str
    memory: str
    memories: str
    new_text: str
    correct_how: str
    nothing: str
    forget_how: str
    everything: str
    sure: str
    sure_how: str
    not_done: str
    which_conversation: str
    no_name: str
    message: str
    no_question: str
    question: str
    your_answer: str
    yes: str
    no: str
    not_open: str
    stopped: str
    learning: str
    show: str
    on: str
    off: str


MENU_TEXTS = {
    "en": MenuTexts(
        about_you="What is remembered about you",
        words="Only those with these words (empty: the newest)",
        memory="Which one",
        memories="Which ones",
        new_text="How it really is",
        correct_how="Say how it really is.",
        nothing="Nothing is remembered about you.",
        forget_how="What you choose is removed for good.",
        everything="Everything about you, conversations too",
        sure="Yes, remove everything about me",
        sure_how="This removes all that is remembered about you and your conversations, for good.",
        not_done="Nothing was changed.",
        which_conversation="Which conversation",
        no_name="the one without a name",
        message="message",
        no_question="Nothing waits for your yes or no.",
        question="May I run this tool?",
        your_answer="Your answer",
        yes="Yes, run it",
        no="No",
        not_open="That is not asked any more: it was answered, or has expired.",
        stopped="Stopped.",
        learning="Comparing our conversations with each other",
        show="Show what it is",
        on="Allow it",
        off="Do not allow it, and remove what came of it",
    ),
    "es": MenuTexts(
        about_you="Lo que se recuerda de ti",
        words="Solo los que tienen estas palabras (vacío: los más nuevos)",
        memory="Cuál",
        memories="Cuáles",
        new_text="Cómo es en realidad",
        correct_how="Di cómo es en realidad.",
        nothing="No se recuerda nada de ti.",
        forget_how="Lo que elijas se borra para siempre.",
        everything="Todo sobre ti, también las conversaciones",
        sure="Sí, borra todo sobre mí",
        sure_how="Esto borra para siempre todo lo que se recuerda de ti y tus conversaciones.",
        not_done="No se ha cambiado nada.",
        which_conversation="Qué conversación",
        no_name="la que no tiene nombre",
        message="mensaje",
        no_question="Nada espera tu sí o tu no.",
        question="¿Puedo ejecutar esta herramienta?",
        your_answer="Tu respuesta",
        yes="Sí, ejecútala",
        no="No",
        not_open="Eso ya no se pregunta: está respondido o ha caducado.",
        stopped="Detenido.",
        learning="Comparar nuestras conversaciones entre sí",
        show="Mostrar qué es",
        on="Permitirlo",
        off="No permitirlo, y borrar lo que salió de ello",
    ),
}

LABELS = {
    "new": {"en": "New conversation", "es": "Nueva conversación"},
    "memories": {"en": "What is remembered about me", "es": "Lo que se recuerda de mí"},
    "correct": {"en": "Correct a memory", "es": "Corregir un recuerdo"},
    "forget": {"en": "Forget", "es": "Olvidar"},
    "export": {"en": "Export my memories", "es": "Exportar mis recuerdos"},
    "learn": {"en": "Learning from our conversations", "es": "Aprender de las conversaciones"},
    "documents": {"en": "Documents", "es": "Documentos"},
    "tools": {"en": "Tools", "es": "Herramientas"},
    "questions": {"en": "Open questions: yes or no", "es": "Preguntas abiertas: sí o no"},
    "stop": {"en": "Stop what is being answered", "es": "Detener lo que se está respondiendo"},
    "why": {"en": "Why the last answer", "es": "Por qué la última respuesta"},
    "usage": {"en": "What I have used", "es": "Lo que he usado"},
    "status": {"en": "Status", "es": "Estado"},
    "help": {"en": "Help", "es": "Ayuda"},
}
