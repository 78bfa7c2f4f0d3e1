"""What people are told at the door, in two languages: nothing is known of them. Knows no code."""

STRANGER = (
    "I only talk with people who were invited. If you have an invitation, send me: join CODE\n"
    "Solo hablo con quienes tienen una invitación. Si tienes una, envíame: join CÓDIGO"
)
TOO_FAST = (
    "That was more than I can read. What you have just sent stays unanswered: please send it again"
    " in a minute.\n"
    "Es más de lo que puedo leer. Lo último que enviaste queda sin respuesta: envíalo otra vez"
    " dentro de un minuto, por favor."
)
WELCOME = (
    "Welcome, you can talk with me now. Write help to see what I can do.\n"
    "Te doy la bienvenida: ya puedes hablar conmigo. Escribe ayuda para ver qué sé hacer."
)
NOT_VALID = (
    "This invitation is not valid, or not any more. Please ask for another one.\n"
    "Esta invitación no es válida, o ya no lo es. Pide otra, por favor."
)
