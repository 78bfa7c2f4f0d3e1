// Opens Converse.js on the server that served this page, for its own people only.
async function open() {
  const site = await (await fetch("site.json", { cache: "no-store" })).json();
  const socket = new URL("/xmpp-websocket", location.href);
  socket.protocol = "wss:";
  await converse.initialize({
    assets_path: new URL("converse", location.href).pathname,
    authentication: "login",
    // A password is never sent to another server than this one.
    locked_domain: site.domain,
    websocket_url: socket.href,
    discover_connection_methods: false,
    allow_registration: false,
    auto_join_private_chats: site.assistants,
    auto_list_rooms: false,
    clear_cache_on_logout: true,
    play_sounds: false,
    view_mode: "fullscreen",
  });
}

open();
