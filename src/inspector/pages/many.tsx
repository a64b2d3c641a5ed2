// inspector/pages: asks before many contexts are changed, and shows how far it is.
import type { FC } from 'hono/jsx'
import type { Deed, Run } from '../many-runs.ts'
import { contextHref } from '../parts/links.ts'
import { FormToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

export interface Asked {
  readonly deed: Deed
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

const VERBS: { readonly [deed in Deed]: string } = {
  terminate: 'Terminate',
  tag: 'Tag',
  untag: 'Untag',
  event: 'Send the event to',
}

const counted = (count: number): string => (count === 1 ? '1 context' : `${count.toLocaleString('en')} contexts`)

const verbOf = (deed: Deed, word: string): string => {
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

export const RunPage: FC<{ readonly visitor: Visitor; readonly run: Run }> = ({ visitor, run }) => {
  const { deed, done, matched, changed, failed, hasEnded, isStopped, id } = run
  const state = !hasEnded ? 'under way' : isStopped ? 'stopped' : 'done'
  return (
    <Shell title="Many contexts" place="Contexts" visitor={visitor} polls={!hasEnded}>
      <div class="side" data-part="run" data-ended={hasEnded}>
        <h1>{`${verbOf(deed, run.with)} ${counted(matched)}: ${state}`}</h1>
        <progress
          value={hasEnded && !isStopped ? 1 : done}
          max={hasEnded && !isStopped ? 1 : Math.max(matched, done, 1)}
        >
          {`${done} of ${matched}`}
        </progress>
        <p>{`${done.toLocaleString('en')} dealt with, ${changed.toLocaleString('en')} changed, ${(done - changed).toLocaleString('en')} could not be.`}</p>
        {failed.length > 0 && (
          <dl>
            {failed.map(({ id: contextId, detail }) => (
              <>
                <dt>{contextId > 0 && <a href={contextHref(contextId)}>{contextId}</a>}</dt>
                <dd>{detail}</dd>
              </>
            ))}
          </dl>
        )}
      </div>
      <div class="row">
        {!hasEnded && (
          <form method="post" action={`/inspector/runs/${id}/stop`}>
            <FormToken visitor={visitor} />
            <button type="submit">Stop</button>
          </form>
        )}
        <a href="/inspector/contexts">All contexts</a>
      </div>
    </Shell>
  )
}
