// store/redis: the notes that the watchdog's thread writes when the event loop is blocked, over a connection of its
// own, since that of the server is blocked, too.
import type { StandstillNotes, NotesPlace } from '../../ports/steps.ts'
import { connect, untilReady, type RedisAddress } from './connection.ts'
import { standstillKey } from './keys.ts'

/** Milliseconds for which a note is kept. Servers take over steps within minutes. */
const KEPT_MS = 7 * 86_400_000
/** Milliseconds to wait for the connection. */
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
    // The commands report failures; an error without a listener would end the process.
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
