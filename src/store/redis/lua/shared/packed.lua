-- A small context is one text: version, 1 when a relative has notified it, for whom it is reserved and until when, the
-- last commit of each writer; its facts (due, owner, ended at, parent, index keys as JSON); names and texts of its
-- parts. '\31' separates, '\30' is before and after the facts. Returns the first four, the facts, and where the parts
-- begin; nothing when the text is damaged.
local function unpacked(text)
  return string.match(text, '^(%d+)\31(1?)\31([^\30\31]*)\31([^\30\31]*)\30([^\30]*)\30()')
end

local function facts_of(facts)
  return string.match(facts, '^([^\31]*)\31([^\31]*)\31([^\31]*)\31([^\31]*)\31([^\31]*)$')
end
