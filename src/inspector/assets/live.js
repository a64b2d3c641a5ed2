// The script of the inspector. Every page works without it. It keeps parts of a page as they are on the server, shows times
// in the zone of the reader, and adds copying and keys.
const RELOAD_MS = 1000
const UNITS = [[86400000, 'd'], [3600000, 'h'], [60000, 'min'], [1000, 's']]

// Times

const TIME_OF_DAY = { hour12: false, hour: '2-digit', minute: '2-digit', second: '2-digit' }

const durationText = (ms) => {
  if (ms < 1000) return '0 s'
  const at = UNITS.findIndex(([size]) => ms >= size)
  const [size, unit] = UNITS[at]
  const whole = Math.floor(ms / size)
  const below = UNITS[at + 1]
  const rest = below ? Math.floor((ms % size) / below[0]) : 0
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${below[1]}`
}
// The clock of the server decides: it made the page.
const offset = () => Number(document.body.dataset.now || Date.now()) - started
const started = Date.now()
const shift = offset()
const now = () => Date.now() + shift
const showTimes = () => {
  for (const element of document.querySelectorAll('time')) {
    const at = new Date(element.dateTime)
    if (Number.isNaN(at.getTime())) continue
    element.title = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })
    if (element.dataset.at) {
      const distance = at.getTime() - now()
      element.textContent = distance > 0 ? `in ${durationText(distance)}` : `${durationText(-distance)} ago`
    } else if (element.dataset.clock) {
      const digits = element.dataset.clock === 'ms' ? { fractionalSecondDigits: 3 } : {}
      element.textContent = at.toLocaleTimeString('en-GB', { ...TIME_OF_DAY, ...digits })
    } else element.textContent = at.toLocaleString()
  }
  for (const ring of document.querySelectorAll('.ring .left')) {
    const { since, at } = ring.dataset
    const share = Math.min(1, Math.max(0, (at - now()) / Math.max(1, at - since)))
    ring.setAttribute('stroke-dasharray', `${(share * 100).toFixed(1)} 100`)
  }
}
for (const zone of document.querySelectorAll('[data-zone]'))
  zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone || 'your zone'
setInterval(() => {
  if (!document.hidden) showTimes()
}, 1000)

// Copying, and choosing all

const begin = () => {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false
  for (const box of document.querySelectorAll('[data-all]')) box.hidden = false
  showTimes()
}
document.addEventListener('click', (event) => {
  const copy = event.target.closest?.('[data-copy]')
  if (!copy) return
  const text = copy.textContent
  navigator.clipboard?.writeText(copy.dataset.copy)
  copy.textContent = 'Copied'
  setTimeout(() => {
    copy.textContent = text
  }, 1200)
})
document.addEventListener('change', (event) => {
  if (!event.target.matches?.('[data-all]')) return
  for (const box of document.querySelectorAll('input[name="id"]')) box.checked = event.target.checked
})

// Live parts

const connection = document.querySelector('[data-connection]')
const say = (text) => {
  if (connection && connection.textContent !== text) connection.textContent = text
}
let [due, timer, isLoading] = [false, null, false]
// What is being read or written stays where it is.
const isBusy = (part) =>
  part.contains(document.activeElement) && document.activeElement.matches('input, select, textarea, button, summary')
const morph = (part, fresh) => {
  if (part.dataset.key !== undefined && part.dataset.key === fresh.dataset.key) return
  if (isBusy(part) || part.matches(':hover [data-row]')) {
    due = true
    return
  }
  const before = new Map([...part.querySelectorAll('[data-row]')].map((row) => [row.id, row.textContent]))
  const isList = part.matches('tbody')
  if (isList && part.matches(':hover')) return offer(part, fresh)
  Idiomorph.morph(part, fresh, {
    morphStyle: 'outerHTML',
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name, node) => !(node.matches('details') && name === 'open'),
      beforeNodeMorphed: (node) => !(node.matches?.('input') && node.checked),
    },
  })
  for (const row of document.querySelectorAll('[data-row]'))
    if (row.id && before.size > 0 && before.get(row.id) !== undefined && before.get(row.id) !== row.textContent) {
      row.classList.remove('glow')
      void row.offsetWidth
      row.classList.add('glow')
    }
}
// Nothing moves under the pointer: what is new is offered.
const offer = (part, fresh) => {
  const known = new Set([...part.querySelectorAll('[data-row]')].map(({ id }) => id))
  const count = [...fresh.querySelectorAll('[data-row]')].filter(({ id }) => !known.has(id)).length
  say(count === 0 ? 'live' : `${count} new`)
  due = true
}
const reload = async () => {
  timer = null
  if (document.hidden) return
  if (isLoading) return ask()
  isLoading = true
  due = false
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (response.status === 401) return say('logged out: load this page again')
    if (!response.ok) throw new Error(response.statusText)
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-part]')) {
      const other = fresh.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`)
      if (other) morph(part, other)
      else if (!isBusy(part)) part.remove()
    }
    begin()
    if (!due) say('live')
  } catch {
    say('not connected')
  } finally {
    isLoading = false
  }
}
const ask = () => {
  due = true
  if (timer === null) timer = setTimeout(reload, RELOAD_MS)
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && due) ask()
})
for (const leaving of ['pointerout', 'focusout'])
  document.addEventListener(leaving, () => {
    if (due && timer === null) ask()
  })
const filters = document.body.dataset.live
if (filters !== undefined && window.EventSource) {
  const source = new EventSource(`/inspector/stream?${filters}`)
  source.addEventListener('open', () => say('live'))
  // The stream does not tell what changed between the making of the page and its own opening.
  for (const name of ['open', 'move', 'gap', 'dropped']) source.addEventListener(name, ask)
  source.addEventListener('error', () => say('not connected'))
  addEventListener('pagehide', () => source.close())
}

if (document.body.dataset.polls)
  setInterval(() => {
    if (document.querySelector('[data-ended="true"]') === null) ask()
  }, 1000)

// Keys

const rows = () => [...document.querySelectorAll('[data-row]')]
let [chosen, isGoing] = [-1, false]
const choose = (step) => {
  const all = rows()
  if (all.length === 0) return
  all[chosen]?.removeAttribute('aria-selected')
  chosen = Math.min(all.length - 1, Math.max(0, chosen + step))
  all[chosen].setAttribute('aria-selected', 'true')
  all[chosen].scrollIntoView({ block: 'nearest' })
}
document.addEventListener('keydown', (event) => {
  if (event.target.matches('input, select, textarea') || event.ctrlKey || event.metaKey || event.altKey) return
  const { key } = event
  if (isGoing) {
    isGoing = false
    const link = document.querySelector(`nav a[data-key="${CSS.escape(key)}"]`)
    if (link) link.click()
    return
  }
  if (key === '/') {
    event.preventDefault()
    document.querySelector('input[type=search]').focus()
  } else if (key === 'g') isGoing = true
  else if (key === 'j' || key === 'k') choose(key === 'j' ? 1 : -1)
  else if (key === 'Enter' && chosen >= 0 && event.target === document.body)
    rows()[chosen]?.querySelector('a[data-open], a')?.click()
  else if (key === 'Escape' && location.hash === '#diagram') location.hash = '#main'
  else if (key === '?') document.querySelector('.foot').scrollIntoView()
})

begin()
// Where the context is, or where contexts begin.
const showHere = () => {
  const here = document.querySelector('.diagram .here') ?? document.querySelector('.diagram .start')
  const frame = here?.closest('.diagram')
  if (!frame) return
  const [box, outer] = [here.getBoundingClientRect(), frame.getBoundingClientRect()]
  frame.scrollLeft += box.left + box.width / 2 - outer.left - frame.clientWidth / 2
  frame.scrollTop += box.top + box.height / 2 - outer.top - frame.clientHeight / 2
}
addEventListener('hashchange', showHere)
showHere()
