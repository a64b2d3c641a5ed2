// model: moments that a request names, as epoch milliseconds or in ISO 8601.

const EPOCH = /^-?\d{1,16}$/
/** In a query, a `+` that was not escaped has become a space. */
const ISO = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?([Zz]|[+\- ]\d\d(?::?\d\d)?)?)?$/
/** The latest and, negated, the earliest time of a `Date`. */
const MAX_MS = 8.64e15

/** Epoch milliseconds; without a zone it is UTC. Null: it names no moment. */
export function momentOf(given: unknown): number | null {
  if (typeof given === 'number') return Number.isInteger(given) && Math.abs(given) <= MAX_MS ? given : null
  if (typeof given !== 'string') return null
  if (EPOCH.test(given)) return momentOf(Number(given))
  const [, day, minute = '00:00', second = '00', fraction = '', zone = 'Z'] = ISO.exec(given) ?? []
  if (day === undefined) return null
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // `Date` takes the 30th of February for a day of March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return null
  const time = Date.parse(`${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zoneOf(zone)}`)
  return Number.isNaN(time) ? null : time
}

function zoneOf(zone: string): string {
  if (zone === 'Z' || zone === 'z') return 'Z'
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  return `${zone.startsWith('-') ? '-' : '+'}${digits.slice(0, 2)}:${digits.slice(2)}`
}
