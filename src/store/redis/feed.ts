// store/redis: tells servers of commits by Redis's own publishing. What is told while a server isn't connected it never
// hears; it is a hint.
import { randomUUID } from 'node:crypto'
import type { ContextId } from '../../model/context.ts'
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
  'callers that wait may wait up to a second longer, steps whose context has ended run on for some heartbeats, and ' +
  'steps that wait for a free slot are not taken by other servers before their next heartbeat'

/** What a server asks for: `watch:<server>:<id>,<id>`. */
const WATCH = 'watch:'
/** Says that steps are ready; any other text is the id of a context. */
const READY = 'ready'

export function redisFeed({ listening, publish, namespace, log }: FeedOptions): CommitFeed {
  const channel = feedChannel(namespace)
  const own = `${WATCH}${randomUUID()}:`
  const onNotified: ((id: ContextId) => void)[] = []
  const onWatched: ((ids: readonly ContextId[]) => void)[] = []
  const onReady: (() => void)[] = []
  let isTold = false
  /** Once: whoever waits looks all the same, and that Redis is away others tell. */
  const fail = (error: unknown) => {
    if (isTold) return
    isTold = true
    log.warn(`servers can not tell one another of commits at once: ${LATE}`, { channel, error })
  }
  listening.on('error', (error) => log.debug('the feed of commits is broken off', { error }))
  const send = (text: string) => void publish(channel, text).catch(fail)
  const hear = (text: string) => {
    if (text === READY) for (const listener of onReady) listener()
    else if (!text.startsWith(WATCH)) for (const listener of onNotified) listener(Number(text))
    else if (!text.startsWith(own)) for (const listener of onWatched) listener(watchedIn(text))
  }
  let isSubscribed = false
  const subscribe = () => {
    if (isSubscribed) return
    isSubscribed = true
    listening.on('message', (_, text: string) => hear(text))
    // It is subscribed to again after each reconnect.
    listening.subscribe(channel).catch(fail)
  }
  return {
    notify: (id) => send(String(id)),
    watch: (ids) => send(own + ids.join(',')),
    onNotified(listener) {
      onNotified.push(listener)
      subscribe()
    },
    onWatched(listener) {
      onWatched.push(listener)
      subscribe()
    },
    notifyReady: () => send(READY),
    onReady(listener) {
      onReady.push(listener)
      subscribe()
    },
    async close() {
      listening.disconnect()
    },
  }
}

/** What is no id is left out: the channel is open to whoever may publish. */
const watchedIn = (text: string): ContextId[] =>
  text
    .slice(text.indexOf(':', WATCH.length) + 1)
    .split(',')
    .map(Number)
    .filter((id) => Number.isSafeInteger(id) && id > 0)
