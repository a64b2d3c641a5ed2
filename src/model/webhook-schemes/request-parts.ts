// model: reads headers and times of a webhook's request, for the schemes.
import type { ReceivedWebhook } from './scheme.ts'

export type SingleHeader =
  | { readonly value: string; readonly fault: null; readonly isAbsent: false }
  | { readonly fault: string; readonly isAbsent: boolean }

/**
 * The value of a header; each character is a byte. Names are not case-sensitive, and several names are spellings of one
 * header. Absent or empty, or present with different values, it is a fault: of two values, a proxy might read the other.
 */
export function readSingleHeader(
  { headers }: Pick<ReceivedWebhook, 'headers'>,
  name: string,
  ...others: readonly string[]
): SingleHeader {
  const names = new Set([name, ...others].map((text) => text.toLowerCase()))
  let value: string | null = null
  for (const [given, text] of headers) {
    if (!names.has(given.toLowerCase())) continue
    if (value !== null && text !== value)
      return { fault: `the header "${name}" came twice with different values`, isAbsent: false }
    value = text
  }
  if (value === null || value === '') return { fault: `the header "${name}" is missing`, isAbsent: true }
  if (!isBytes(value)) return { fault: `the header "${name}" is malformed`, isAbsent: false }
  return { value, fault: null, isAbsent: false }
}

/** Whether each character is a byte. */
const isBytes = (text: string): boolean => !/[^\0-\u00FF]/.test(text)

/** The bytes of a text of which each character is a byte. */
export const rawBytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** The time of a message, in whole seconds as headers have it. */
export const secondsOf = (ms: number): number => Math.floor(ms / 1000)

/** Why a time, in decimal unix seconds, is not acceptable now; null: it is. */
export function timeFault(text: string, toleranceS: number, nowMs: number): string | null {
  if (!/^\d{1,15}$/.test(text)) return 'the timestamp is malformed'
  const age = secondsOf(nowMs) - Number(text)
  if (age > toleranceS) return 'the message is too old'
  return -age > toleranceS ? 'the message is from the future' : null
}
