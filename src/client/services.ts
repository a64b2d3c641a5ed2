// client: one service, typed by what `actorflux types` writes. What the types refuse, the server would refuse, or
// ignore.
import type { ExecuteAnswer } from '../api/commands.ts'
import type { CallRequest, ClientCalls, SentAnswer, WaitOptions } from './calls.ts'

/** The types of a service: its inputs, its outputs, and the inputs of each event that it takes. */
export interface ServiceTypes {
  readonly input: object
  readonly output: object
  readonly events: object
  /** For a service that takes any other event, too: their inputs. */
  readonly otherEvents?: object
}

interface AnyInput {
  readonly [name: string]: unknown
}

/** The types of services of which nothing is known. */
export interface AnyServices {
  readonly [service: string]: {
    readonly input: AnyInput
    readonly output: AnyInput
    readonly events: { readonly [event: string]: AnyInput }
  }
}

/** Services by `package/fluxName`. */
export type ServicesOf<Services> = { readonly [Name in keyof Services]: ServiceTypes }

/** Any name, of a service that takes any event. */
export type OtherNames<Service extends ServiceTypes> = Service extends { readonly otherEvents: object }
  ? string & {}
  : never

export type EventInput<Service extends ServiceTypes, Event> = Event extends keyof Service['events']
  ? Service['events'][Event]
  : Service['otherEvents']

/** `true` if nothing is required, whichever of several inputs it is. */
type IsOptional<Input> = false extends (
  Input extends unknown ? (Record<never, never> extends Input ? true : false) : never
)
  ? false
  : true

export type WithInput<Input> =
  IsOptional<Input> extends true ? { readonly input?: Input | undefined } : { readonly input: Input }

type StartOptions = Omit<CallRequest<'execute'>, 'package' | 'fluxName' | 'input'> & WaitOptions

type StartArguments<Input> =
  IsOptional<Input> extends true ? [input?: Input, options?: StartOptions] : [input: Input, options?: StartOptions]

type Addressed = 'contextId' | 'key' | 'package' | 'fluxName' | 'tags' | 'orStart'

/** Without the other ways to say which contexts are meant. */
type Alone<Way> = Way & { readonly [Other in Exclude<Addressed, keyof Way>]?: undefined }

/** The contexts that an event is for: one, or all with any of the tags. */
type Receiver<Input> =
  | Alone<{ readonly contextId: number }>
  | Alone<{ readonly tags: readonly string[] }>
  | Alone<{
      readonly key: string
      /** Starts a context under that key where there is none, which takes the event. */
      readonly orStart?: (WithInput<Input> & { readonly tags?: readonly string[] | undefined }) | undefined
    }>

type EventOptions = Omit<CallRequest<'sendEvent'>, Addressed | 'event' | 'input'> & WaitOptions

/** One service. */
export interface ServiceClient<Service extends ServiceTypes> {
  /** Starts a context. @throws Problem, ConnectionError */
  execute(...given: StartArguments<Service['input']>): Promise<ExecuteAnswer>
  /**
   * Sends an event to a context, by its id or its key; or to all contexts, also of other services, that have any of the
   * tags.
   * @throws Problem, ConnectionError
   */
  send<Event extends (keyof Service['events'] & string) | OtherNames<Service>>(
    event: Event,
    options: Receiver<Service['input']> & WithInput<EventInput<Service, Event>> & EventOptions,
  ): Promise<SentAnswer>
}

/** @param name `package/fluxName` @throws TypeError for another name */
export function serviceOver<Service extends ServiceTypes>(
  calls: Pick<ClientCalls, 'execute' | 'sendEvent'>,
  name: string,
): ServiceClient<Service> {
  const [, owner, fluxName] = /^([^/]+)\/(.+)$/s.exec(name) ?? []
  if (owner === undefined || fluxName === undefined) throw new TypeError(`a service is package/fluxName, not '${name}'`)
  const service = { package: owner, fluxName }
  return {
    async execute(...given) {
      const [input, { signal, timeout, wait, ...start } = {}]: readonly [input?: unknown, options?: StartOptions] =
        given
      return calls.execute({ ...start, ...service, ...inputOf(input) }, { signal, timeout, wait })
    },
    async send(event, options) {
      const { signal, timeout, wait, input, key, orStart, ...rest }: SendOptions = options
      if (rest.contextId === undefined && key === undefined && rest.tags === undefined)
        throw new TypeError('the event needs contextId, key or tags')
      return calls.sendEvent(
        {
          ...rest,
          event,
          ...inputOf(input),
          ...(key !== undefined && { ...service, key }),
          ...(orStart !== undefined && { orStart: { tags: orStart.tags, ...inputOf(orStart.input) } }),
        },
        { signal, timeout, wait },
      )
    },
  }
}

/** The options of an event, whatever its types. */
interface SendOptions extends EventOptions {
  readonly input?: unknown
  readonly contextId?: number | undefined
  readonly key?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly orStart?: { readonly input?: unknown; readonly tags?: readonly string[] | undefined } | undefined
}

/** Which values it may have, the types say. @throws TypeError if it is no object */
function inputOf(input: unknown) {
  if (input === undefined) return {}
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw new TypeError('input must be an object')
  return { input: { ...input } }
}
