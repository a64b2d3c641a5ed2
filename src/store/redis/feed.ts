// store/redis: notifies servers of commits over a channel of Redis. A server that is not connected misses the message:
// messages are only hints.
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { ContextId } from '../../model/context.ts'
import { throttled } from '../../model/log-once.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { Log } from '../../ports/log.ts'
import { Cluster } from 'ioredis'
import type { Connection } from './connection.ts'
import { feedChannel } from './keys.ts'
import { idsOf } from './scripts.ts'

interface FeedOptions {
  /** A connection for this feed alone: a subscribed connection cannot send other commands. */
  readonly listening: Connection
  readonly publish: (channel: string, text: string) => Promise<unknown>
  readonly namespace: string
  readonly log: Log
}

const LATE =
  'callers that wait may wait up to a second longer, steps whose context has ended run on for some heartbeats, and ' +
  'steps that wait for a free slot are not taken by other servers before their next heartbeat'

/** The start of the message in which a server asks for notifications: `watch:<server>:<id>,<id>`. */
const WATCH = 'watch:'
/** What a message about the feed of moves begins with: `watch:moves/on/<name>/<place>:` */
const MOVES = `${WATCH}moves/`
/** The message that steps are ready; any other message is the id of a context. */
const READY = 'ready'

/** What is heard from servers, this one included, with what listeners are given. */
interface Heard {
  notified: [id: ContextId]
  watched: [ids: readonly ContextId[]]
  ready: []
  signal: [kind: string, name: string, place: string]
}

/** Messages about the feed of moves, among all servers, this one included. */
export type MoveSignals = ReturnType<typeof redisFeed>['signals']

export function redisFeed({ listening, publish, namespace, log }: FeedOptions) {
  const channel = feedChannel(namespace)
  const own = `${WATCH}${randomUUID()}:`
  const heard = new EventEmitter<Heard>().setMaxListeners(0)
  const fail = throttled((error) =>
    log.warn(`servers cannot notify each other of commits at once: ${LATE}`, { channel, error }),
  )
  listening.on('error', (error) => log.debug('the connection of the commit feed failed', { error }))
  const send = (text: string) => void publish(channel, text).catch(fail)
  listening.on('message', (_, text: string) => {
    if (text === READY) heard.emit('ready')
    else if (text.startsWith(MOVES)) {
      const [kind = '', name = '', place = ''] = text.slice(MOVES.length, -1).split('/')
      heard.emit('signal', kind, name, place)
    } else if (!text.startsWith(WATCH)) heard.emit('notified', Number(text))
    // What is no id is left out: other programs may publish on the channel.
    else if (!text.startsWith(own)) heard.emit('watched', idsOf(text.slice(text.lastIndexOf(':') + 1).split(',')))
  })
  // ioredis subscribes again after each reconnect.
  listening.subscribe(channel).catch(fail)
  return {
    notify: (id) => send(String(id)),
    watch: (ids) => send(own + ids.join(',')),
    onNotified: (listener) => void heard.on('notified', listener),
    onWatched: (listener) => void heard.on('watched', listener),
    notifyReady: () => send(READY),
    onReady: (listener) => void heard.on('ready', listener),
    signals: {
      /**
       * `on`: the feed of moves is active; `ok`: the answer of each server. `name` and `place`: letters, digits, `-` and
       * `_`. Resolves with how many servers have got it.
       */
      send: (kind: 'on' | 'ok', name: string, place: string) =>
        receiversOf(listening, channel, publish(channel, `${MOVES}${kind}/${name}/${place}:`)),
      onSignal: (listener: (...signal: Heard['signal']) => void) => void heard.on('signal', listener),
    },
    async close() {
      listening.disconnect()
    },
  } satisfies CommitFeed & { signals: object }
}

/** How many have got a message. In a cluster, a node tells only of those that are subscribed to it itself. */
async function receiversOf(connection: Connection, channel: string, sent: Promise<unknown>): Promise<number> {
  const received = await sent
  if (!(connection instanceof Cluster)) return Number(received)
  const counts = await Promise.all(connection.nodes('all').map((node) => node.pubsub('NUMSUB', channel)))
  return counts.reduce((sum, reply) => sum + Number(Array.isArray(reply) ? reply[1] : 0), 0)
}
