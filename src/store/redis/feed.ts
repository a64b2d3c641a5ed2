// store/redis: notifies servers of commits over a channel of Redis. A server that is not connected misses the message:
// messages are only hints.
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Log } from '../../ports/log.ts'
import type { Connection } from './connection.ts'
import { feedChannel } from './keys.ts'

interface FeedOptions {
  /** A connection for this feed alone: a subscribed connection cannot send other commands. */
  readonly listening: Connection
  readonly publish: (channel: string, text: string) => Promise<unknown>
  readonly namespace: string
  readonly log: Log
}

const LATE =
  'callers of webhooks may wait up to a second longer, steps whose context has ended run on for some heartbeats, and ' +
  'steps that wait for a free slot are not taken by other servers before their next heartbeat'
/** The message that steps are ready; any other message is the id of a context. */
const READY = 'ready'

export function redisFeed({ listening, publish, namespace, log }: FeedOptions): CommitFeed {
  const channel = feedChannel(namespace)
  let isLogged = false
  /** Logged once: servers that wait also query, and the store logs that Redis is away. */
  const fail = (error: unknown) => {
    if (isLogged) return
    isLogged = true
    log.warn(`servers cannot notify each other of commits at once: ${LATE}`, { channel, error })
  }
  listening.on('error', (error) => log.debug('the connection of the commit feed failed', { error }))
  return {
    notify: (id) => void publish(channel, String(id)).catch(fail),
    onNotified(listener) {
      listening.on('message', (_, text: string) => {
        if (text !== READY) listener(Number(text))
      })
      // ioredis subscribes again after each reconnect.
      listening.subscribe(channel).catch(fail)
    },
    notifyReady: () => void publish(channel, READY).catch(fail),
    onReady(listener) {
      listening.on('message', (_, text: string) => {
        if (text === READY) listener()
      })
    },
    async close() {
      listening.disconnect()
    },
  }
}
