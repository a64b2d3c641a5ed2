// store/redis: what the watchdog's thread writes down of a standstill, over a connection of its own: that of the server
// stands still, too.
import type { StandstillNotes, NotesPlace } from '../../ports/step-watch.ts'
import { connect, untilReady, type RedisAddress } from './connection.ts'
import { standstillKey } from './keys.ts'

/** Milliseconds for which a note is kept: servers on Redis take over within minutes. */
const KEPT_MS = 7 * 86_400_000
/** Milliseconds to connect. */
const PATIENCE_MS = 3_000

interface Place {
  readonly address: RedisAddress
  readonly namespace: string
}

export const redisNotesPlace = ({ address, namespace }: Place): NotesPlace => ({
  module: import.meta.url,
  place: { address, namespace },
})

export function openNotes(place: Place): StandstillNotes {
  const { address, namespace } = place
  const ask = async (question: (connection: ReturnType<typeof connect>) => Promise<unknown>) => {
    const connection = connect(address, 'store')
    // Each attempt that fails is told by the question.
    connection.on('error', () => {})
    try {
      await untilReady(connection, PATIENCE_MS)
      await question(connection)
    } finally {
      connection.disconnect()
    }
  }
  return {
    write: (owner, text) => ask((connection) => connection.set(standstillKey(namespace, owner), text, 'PX', KEPT_MS)),
    erase: (owner) => ask((connection) => connection.del(standstillKey(namespace, owner))),
  }
}
