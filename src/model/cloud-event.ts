// model: the id under which the event of a CloudEvent is known.
import { createHash } from 'node:crypto'

/** Visible text, with spaces between. */
const VISIBLE = /^[!-~][ -~]{0,253}[!-~]$/

/** `source` and `id` together; of what isn't plain or is long, a hash. */
export function eventIdOf(source: string, id: string): string {
  const joined = `${source} ${id}`
  return VISIBLE.test(joined) ? joined : `ce-${createHash('sha256').update(joined).digest('hex')}`
}
