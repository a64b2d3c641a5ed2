// inspector/pages: asks before many contexts are changed, and takes what that needs.
import type { FC } from 'hono/jsx'
import type { CommandName } from '../../api/commands.ts'
import { RefusalNotice, type Refusal } from '../forms/fields.tsx'
import { InputsField, RETRY_PLACES, RetryFields } from '../forms/retry-fields.tsx'
import { FormToken, OnceToken, Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

/** What can be asked for on the pages. */
export const ASKED_COMMANDS = ['terminate', 'tag', 'untag', 'event', 'retry', 'pause', 'resume'] as const
export type AskedCommand = (typeof ASKED_COMMANDS)[number] & CommandName

export const takesWord = (command: AskedCommand): boolean =>
  command === 'tag' || command === 'untag' || command === 'event'

export interface Asked {
  readonly command: AskedCommand
  /** The tag, or the name of the event; empty for others. */
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

/** What will happen, where the word alone does not say it. */
const HINTS: { readonly [command in AskedCommand]?: string } = {
  terminate: 'They end where they are.',
  event: 'Each that does not wait for it is counted as failed.',
  retry: 'Each goes on in the state that failed, with the same data and a new set of attempts.',
  pause: 'They start no step, take no wake-up, and keep the events that they are sent.',
  resume: 'They take the events that they kept, then what is due.',
}

export const countedContexts = (count: number): string =>
  count === 1 ? '1 context' : `${count.toLocaleString('en')} contexts`

const VERBS: { readonly [command in AskedCommand]: (word: string) => string } = {
  terminate: () => 'Terminate',
  tag: (word) => `Tag with ${word}`,
  untag: (word) => `Take the tag ${word} from`,
  event: (word) => `Send ${word} to`,
  retry: () => 'Retry',
  pause: () => 'Pause',
  resume: () => 'Resume',
}

export const AskPage: FC<Asked & { readonly visitor: Visitor; readonly refusal: Refusal | null }> = ({
  visitor,
  command,
  ids,
  matched,
  filters,
  back,
  refusal,
  ...asked
}) => {
  const verb = VERBS[command](asked.with)
  const isChosen = ids.length > 0 && refusal?.values.get('scope')?.[0] !== 'all'
  return (
    <Shell title="Are you sure?" place="Contexts" visitor={visitor}>
      <h1>{`${verb} these contexts?`}</h1>
      <form class="stack" method="post" action="/inspector/contexts/many">
        <FormToken visitor={visitor} />
        <OnceToken />
        <input type="hidden" name="do" value={command} />
        <input type="hidden" name="with" value={asked.with} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="sure" value="yes" />
        {ids.map((id) => (
          <input type="hidden" name="id" value={String(id)} />
        ))}
        <RefusalNotice refusal={refusal} controls={[]} places={RETRY_PLACES} />
        <fieldset class="stack">
          <legend class="hidden">Which</legend>
          {ids.length > 0 && (
            <label class="row">
              <input type="radio" name="scope" value="chosen" checked={isChosen} />{' '}
              {`${countedContexts(ids.length)} that you chose`}
            </label>
          )}
          <label class="row">
            <input type="radio" name="scope" value="all" checked={!isChosen} />{' '}
            {`all ${countedContexts(matched)} that match: ${filters}`}
          </label>
        </fieldset>
        {HINTS[command] !== undefined && <p class="faint">{HINTS[command]}</p>}
        {command === 'event' && <InputsField label="Inputs of the event" refusal={refusal} />}
        {command === 'retry' && (
          <details open={refusal !== null}>
            <summary>Otherwise …</summary>
            <section>
              <RetryFields states={null} refusal={refusal} />
            </section>
          </details>
        )}
        <div class="row">
          <button class={command === 'terminate' ? 'danger' : 'primary'} type="submit">
            {verb} them
          </button>
          <a href={back}>Leave them as they are</a>
        </div>
      </form>
    </Shell>
  )
}
