// Every view of the console, in the order of the menu.
//
// A view is a module:
//   icon              a name in icons.js
//   title(lang)       what the menu calls it
//   mount(root, app)  fills the empty element `root`; `app` is described in app.js
//   unmount()         ends what `app.signal` does not end
//   changed(args)     optional: the address changed within the view; without it, it is mounted anew

import * as agents from "./views/agents.js";
import * as chat from "./views/chat.js";
import * as context from "./views/context.js";
import * as documents from "./views/documents.js";
import * as memory from "./views/memory.js";
import * as settings from "./views/settings.js";
import * as tools from "./views/tools.js";

export const VIEWS = { chat, memory, documents, context, tools, agents, settings };
