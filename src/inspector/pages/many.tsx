// inspector/pages: asks before many contexts are changed, and shows how far it is.
import type { FC } from 'hono/jsx'
import type { OperationView } from '../../api/get-operations.ts'
import { contextHref } from '../parts/links.ts'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

/** What can be asked for on the pages. */
export type AskedDeed = Extract<OperationView['do'], 'terminate' | 'tag' | 'untag' | 'event'>

export interface Asked {
  readonly deed: AskedDeed
  readonly with: string
  /** Those that were chosen; none: only all that match are offered. */
  readonly ids: readonly number[]
  /** How many match the filters of the list. */
  readonly matched: number
  /** The filters, in words. */
  readonly filters: string
  /** Address of the list. */
  readonly back: string
}

const VERBS: { readonly [deed in AskedDeed]: string } = {
  terminate: 'Terminate',
  tag: 'Tag',
  untag: 'Untag',
  event: 'Send the event to',
}

const counted = (count: number): string => (count === 1 ? '1 context' : `${count.toLocaleString('en')} contexts`)

const verbOf = (deed: AskedDeed, word: string): string => {
  if (deed === 'terminate') return 'Terminate'
  return deed === 'event' ? `Send ${word} to` : `${VERBS[deed]} with ${word}`
}

export const AskPage: FC<Asked & { readonly visitor: Visitor }> = ({
  visitor,
  deed,
  ids,
  matched,
  filters,
  back,
  ...asked
}) => (
  <Shell title="Are you sure?" place="Contexts" visitor={visitor}>
    <h1>{`${verbOf(deed, asked.with)} these contexts?`}</h1>
    <form class="stack" method="post" action="/inspector/contexts/many">
      <FormToken visitor={visitor} />
      <input type="hidden" name="do" value={deed} />
      <input type="hidden" name="with" value={asked.with} />
      <input type="hidden" name="back" value={back} />
      <input type="hidden" name="sure" value="yes" />
      {ids.map((id) => (
        <input type="hidden" name="id" value={String(id)} />
      ))}
      <fieldset class="stack">
        <legend class="hidden">Which</legend>
        {ids.length > 0 && (
          <label class="row">
            <input type="radio" name="scope" value="chosen" checked /> {`${counted(ids.length)} that you chose`}
          </label>
        )}
        <label class="row">
          <input type="radio" name="scope" value="all" checked={ids.length === 0} />{' '}
          {`all ${counted(matched)} that match: ${filters}`}
        </label>
      </fieldset>
      {deed === 'terminate' && <p>It can't be taken back.</p>}
      <div class="row">
        <button class={deed === 'terminate' ? 'danger' : 'primary'} type="submit">
          {verbOf(deed, asked.with)} them
        </button>
        <a href={back}>Leave them as they are</a>
      </div>
    </form>
  </Shell>
)

/** Of an operation, whoever asked for it. */
const NAMES: { readonly [name in OperationView['do']]: string } = {
  ...VERBS,
  event: 'Send an event to',
  retry: 'Retry',
  pause: 'Pause',
  resume: 'Resume',
  migrate: 'Migrate',
}

const filterOf = ({ filter }: OperationView): string =>
  Object.entries(filter)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(', ') || 'all that are unfinished'

export const RunPage: FC<{ readonly visitor: Visitor; readonly operation: OperationView }> = ({
  visitor,
  operation,
}) => {
  const { operationId, done, matched, changed, failed, errors, status } = operation
  const hasEnded = status !== 'running'
  const isWhole = status === 'done'
  return (
    <Shell title="Many contexts" place="Contexts" visitor={visitor} polls={!hasEnded}>
      <div class="side" data-part="run" data-ended={hasEnded}>
        <h1>{`${NAMES[operation.do]} ${counted(matched)}: ${hasEnded ? status : 'under way'}`}</h1>
        <progress value={isWhole ? 1 : done} max={isWhole ? 1 : Math.max(matched, done, 1)}>
          {`${done} of ${matched}`}
        </progress>
        <p class="comment">{`Of those that match: ${filterOf(operation)}`}</p>
        <p>{`${done.toLocaleString('en')} dealt with, ${changed.toLocaleString('en')} changed, ${failed.toLocaleString('en')} could not be.`}</p>
        {errors.length > 0 && (
          <dl>
            {errors.map(({ contextId, detail }) => (
              <>
                <dt>
                  <a href={contextHref(contextId)}>{contextId}</a>
                </dt>
                <dd>{detail}</dd>
              </>
            ))}
          </dl>
        )}
      </div>
      <div class="row">
        {!hasEnded && (
          <form method="post" action={`/inspector/runs/${operationId}/stop`}>
            <FormToken visitor={visitor} />
            <button type="submit">Stop</button>
          </form>
        )}
        <a href="/inspector/contexts">All contexts</a>
      </div>
    </Shell>
  )
}
