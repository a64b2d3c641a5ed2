// store/redis: tells servers of commits by Redis's own publishing. What is told while a server isn't connected it never
// hears; it is a hint.
import type { CommitFeed } from '../../ports/commit-feed.ts'
import type { Log } from '../../ports/log.ts'
import type { Connection } from './connection.ts'
import { feedChannel } from './keys.ts'

interface FeedOptions {
  /** For nothing else: one that listens can send nothing. */
  readonly listening: Connection
  readonly publish: (channel: string, text: string) => Promise<unknown>
  readonly namespace: string
  readonly log: Log
}

const LATE =
  'callers of webhooks may wait up to a second longer, steps whose context has ended run on for some heartbeats, and ' +
  'steps that wait for a free slot are not taken by other servers before their next heartbeat'
/** Says that steps are ready; any other text is the id of a context. */
const READY = 'ready'

export function redisFeed({ listening, publish, namespace, log }: FeedOptions): CommitFeed {
  const channel = feedChannel(namespace)
  let isTold = false
  /** Once: whoever waits looks all the same, and that Redis is away others tell. */
  const fail = (error: unknown) => {
    if (isTold) return
    isTold = true
    log.warn(`servers can not tell one another of commits at once: ${LATE}`, { channel, error })
  }
  listening.on('error', (error) => log.debug('the feed of commits is broken off', { error }))
  return {
    notify: (id) => void publish(channel, String(id)).catch(fail),
    onNotified(listener) {
      listening.on('message', (_, text: string) => {
        if (text !== READY) listener(Number(text))
      })
      // It is subscribed to again after each reconnect.
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
