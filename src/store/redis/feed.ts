// store/redis: notifies servers of commits over a channel of Redis. A server that is not connected misses the message:
// messages are only hints.
import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { ContextId } from '../../model/context.ts'
import type { CommitFeed } from '../../ports/feeds.ts'
import type { Log } from '../../ports/log.ts'
import { Cluster } from 'ioredis'
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
  'callers that wait may wait up to a second longer, steps whose context has ended run on for some heartbeats, and ' +
  'steps that wait for a free slot are not taken by other servers before their next heartbeat'

/** The start of the message in which a server asks for notifications: `watch:<server>:<id>,<id>`. */
const WATCH = 'watch:'
/** What a message about the feed of moves begins with: `watch:moves/on/<name>/<place>:` */
const MOVES = `${WATCH}moves/`
/** The message that steps are ready; any other message is the id of a context. */
const READY = 'ready'

/** `on`: the feed of moves is active; `ok`: the answer of each server. */
type SignalKind = 'on' | 'ok'

/** What is heard from servers, this one included, with what listeners are given. */
interface Heard {
  notified: [id: ContextId]
  watched: [ids: readonly ContextId[]]
  ready: []
  signal: [kind: string, name: string, place: string]
  newListener: []
}

/** Messages about the feed of moves, among all servers, this one included. */
export interface MoveSignals {
  /** Resolves with how many servers have got it. `name` and `place`: letters, digits, `-` and `_`. */
  send(kind: SignalKind, name: string, place: string): Promise<number>
  onSignal(listener: (...signal: Heard['signal']) => void): void
}

export interface RedisFeed extends CommitFeed {
  readonly signals: MoveSignals
}

export function redisFeed({ listening, publish, namespace, log }: FeedOptions): RedisFeed {
  const channel = feedChannel(namespace)
  const own = `${WATCH}${randomUUID()}:`
  const heard = new EventEmitter<Heard>().setMaxListeners(0)
  let isLogged = false
  /** Logged once: servers that wait also query, and the store logs that Redis is away. */
  const fail = (error: unknown) => {
    if (isLogged) return
    isLogged = true
    log.warn(`servers cannot notify each other of commits at once: ${LATE}`, { channel, error })
  }
  listening.on('error', (error) => log.debug('the connection of the commit feed failed', { error }))
  const send = (text: string) => void publish(channel, text).catch(fail)
  const hear = (text: string) => {
    if (text === READY) heard.emit('ready')
    else if (text.startsWith(MOVES)) {
      const [kind = '', name = '', place = ''] = text.slice(MOVES.length, -1).split('/')
      heard.emit('signal', kind, name, place)
    } else if (!text.startsWith(WATCH)) heard.emit('notified', Number(text))
    else if (!text.startsWith(own)) heard.emit('watched', watchedIn(text))
  }
  heard.once('newListener', () => {
    listening.on('message', (_, text: string) => hear(text))
    // ioredis subscribes again after each reconnect.
    listening.subscribe(channel).catch(fail)
  })
  return {
    notify: (id) => send(String(id)),
    watch: (ids) => send(own + ids.join(',')),
    onNotified: (listener) => void heard.on('notified', listener),
    onWatched: (listener) => void heard.on('watched', listener),
    notifyReady: () => send(READY),
    onReady: (listener) => void heard.on('ready', listener),
    signals: {
      send: (...parts) => receiversOf(listening, channel, publish(channel, `${MOVES}${parts.join('/')}:`)),
      onSignal: (listener) => void heard.on('signal', listener),
    },
    async close() {
      listening.disconnect()
    },
  }
}

/** How many have got a message. In a cluster, a node tells only of those that are subscribed to it itself. */
async function receiversOf(connection: Connection, channel: string, sent: Promise<unknown>): Promise<number> {
  const received = await sent
  if (!(connection instanceof Cluster)) return Number(received)
  const counts = await Promise.all(connection.nodes('all').map((node) => node.pubsub('NUMSUB', channel)))
  return counts.reduce((sum, reply) => sum + Number(Array.isArray(reply) ? reply[1] : 0), 0)
}

/** What is no id is left out: the channel is open to whoever may publish. */
const watchedIn = (text: string): ContextId[] =>
  text
    .slice(text.indexOf(':', WATCH.length) + 1)
    .split(',')
    .map(Number)
    .filter((id) => Number.isSafeInteger(id) && id > 0)
