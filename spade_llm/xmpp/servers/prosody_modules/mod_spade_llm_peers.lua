-- Servers of our federation are reached where the configuration says; there are no others.
-- Prosody 0.12 and 13 ask DNS for `_xmpp-server._tcp.DOMAIN` and have no setting for this.
module:set_global();

local service = require "net.resolvers.service";
local basic = require "net.resolvers.basic";

local peers = module:get_option("spade_llm_peers", {});
local look_up = service.new;

local nobody = {
	last_error = "not a server of this federation";
	next = function (_, found) found(nil); end;
};

local function peer_of(domain)
	return peers[domain] or peers[domain:match("^[^.]+%.(.+)$") or ""];
end

function service.new(domain, name, kind, extra)
	if name == "xmpps-server" then
		return nobody; -- STARTTLS only
	elseif name ~= "xmpp-server" then
		return look_up(domain, name, kind, extra);
	end
	local peer = peer_of(domain);
	return peer and basic.new(peer.host, peer.port, kind, extra) or nobody;
end

-- A CA of one peer vouches for that peer's name to nobody else's harm only if strangers stay out.
module:hook("s2s-check-certificate", function (event)
	if event.host and not peer_of(event.host) then
		event.session.cert_identity_status = "invalid";
	end
end, 100);

function module.unload()
	service.new = look_up;
end
