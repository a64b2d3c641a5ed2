// inspector/pages: what is done with many contexts: it is asked for, confirmed, and begins as an operation.
import type { FC } from 'hono/jsx'
import { check } from '../../api/call.ts'
import { CALLS } from '../../api/calls.ts'
import { COMMAND_NAMES, COMMANDS, type CommandName } from '../../api/commands.ts'
import type { OperationRequest } from '../../api/operations.ts'
import { malformed } from '../../model/failure.ts'
import { getOwn } from '../../model/json/value.ts'
import { RefusalNotice } from '../forms/fields.tsx'
import { InputsField, inputsOf, RETRY_POINTERS, RetryFields, retryOptionsOf } from '../forms/retry-fields.tsx'
import { Layout, PostForm } from '../layout.tsx'
import { filtersIn, filterText, statusesIn, typedTexts, type ListFilters } from '../forms/filters.tsx'
import { operationHref } from '../parts/links.tsx'
import { isRetryable } from '../parts/status.tsx'
import { checkRole, type PageRoutes, type Refusal, type SentForm } from '../routes.tsx'
import { countedContexts, VERBS } from './operations.tsx'

export function addBulkPage(pages: PageRoutes): void {
  pages.post('/contexts/many', {
    async run(form) {
      const request = bulkRequestOf(form)
      checkRole(form.viewer, COMMANDS[request.command].role)
      if (form.text('sure') !== 'yes') return { page: await confirmPage(form, null) }
      const operation: OperationRequest = { ...meantBy(request, form), ...doing(request, form) }
      const { operationId } = await form.viewer.api.startOperation(operation)
      return operationHref(operationId ?? '')
    },
    again: confirmPage,
  })
}

interface BulkRequest {
  readonly command: CommandName
  /** The tag, or the name of the event; empty for others. */
  readonly word: string
  /** Those that were chosen. */
  readonly ids: readonly number[]
  /** Filters of the list that they were chosen from; for a retry, only failed and terminated contexts are meant. */
  readonly filters: ListFilters
  /** Address of the list. */
  readonly back: string
}

/** What the word of a command is. */
const WORDS: { readonly [command: string]: 'tag' | 'event' } = { tag: 'tag', untag: 'tag', event: 'event' }

/** @throws FluxError `malformed` when it does not say what is to be done */
function bulkRequestOf({ text, values }: SentForm): BulkRequest {
  const command = COMMAND_NAMES.find((each) => each === text('do') && COMMANDS[each].schema !== null)
  if (command === undefined) throw malformed('it is not known what is to be done')
  const kind = getOwn(WORDS, command)
  const word = kind === undefined ? '' : text('with') || text(kind)
  if (kind !== undefined && word === '') throw malformed(`name the ${kind}`)
  const back = text('back').startsWith('/inspector/contexts?') ? text('back') : '/inspector/contexts'
  const filters = filtersIn(Object.fromEntries(new URL(back, 'http://host').searchParams))
  const retried = command === 'retry' ? statusesIn(filters).filter(isRetryable) : []
  return {
    command,
    word,
    ids: (values.get('id') ?? []).map(Number).filter((id) => Number.isSafeInteger(id) && id > 0),
    filters: retried.length === 0 ? filters : { ...filters, status: retried.join(',') },
    back,
  }
}

/** Those that were chosen are meant whatever has become of them; each that can't take it is told. */
const meantBy = ({ filters, ids }: BulkRequest, { text }: SentForm) =>
  text('scope') === 'chosen' ? { filter: { status: 'all' }, contextIds: [...ids] } : { filter: { ...filters } }

function doing({ command, word }: BulkRequest, form: SentForm) {
  switch (command) {
    case 'event': {
      const input = inputsOf(form.text('inputs'))
      return { do: command, with: { event: word, ...(input && { input }) } }
    }
    case 'tag':
    case 'untag':
      return { do: command, with: { tags: [word] } }
    case 'retry':
      return { do: command, with: retryOptionsOf(form) }
    default:
      return { do: command }
  }
}

/** What will happen, where the word alone does not say it. */
const HINTS: { readonly [command in CommandName]?: string } = {
  terminate: 'They end where they are.',
  event: 'Each that does not wait for it is counted as failed.',
  retry: 'Each goes on in the state that failed, with the same data and a new set of attempts.',
  pause: 'They start no step, take no wake-up, and keep the events that they are sent.',
  resume: 'They take the events that they kept, then what is due.',
}

/** Asks before many are changed, and takes what that needs. */
async function confirmPage(form: SentForm, refused: Refusal | null) {
  const { command, word, ids, filters, back } = bulkRequestOf(form)
  const counted = typedTexts(CALLS.countContexts, { ...filters, status: statusesIn(filters).join(',') })
  const { total } = await form.viewer.api.countContexts(check(CALLS.countContexts, counted))
  // In an operation, pointers are behind `/with`.
  const errors = refused?.errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/with\b/, '') })) ?? []
  const refusal = refused && { ...refused, errors }
  const isChosen = ids.length > 0 && (refused === null || form.text('scope') === 'chosen')
  return (
    <Layout
      title={`${VERBS[command]} these contexts?`}
      place="Contexts"
      lead={
        word !== '' && (
          <p class="sentence">
            {WORDS[command]} <code>{word}</code>
          </p>
        )
      }
    >
      <PostForm action="/inspector/contexts/many" once>
        <input type="hidden" name="do" value={command} />
        <input type="hidden" name="with" value={word} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="sure" value="yes" />
        {ids.map((id) => (
          <input type="hidden" name="id" value={String(id)} />
        ))}
        <RefusalNotice refusal={refusal} pointers={RETRY_POINTERS} />
        <Scope
          chosen={ids.length}
          matched={`${countedContexts(total)} that match: ${filterText(filters)}`}
          isChosen={isChosen}
        />
        {HINTS[command] !== undefined && <p class="faint">{HINTS[command]}</p>}
        {command === 'event' && <InputsField label="Inputs of the event" refusal={refusal} />}
        {command === 'retry' && (
          <details open={refusal !== null}>
            <summary>Otherwise …</summary>
            <section>
              <RetryFields states={[]} refusal={refusal} />
            </section>
          </details>
        )}
        <div class="row">
          <button class={command === 'terminate' ? 'danger' : 'primary'} type="submit">
            {VERBS[command]} them
          </button>
          <a href={back}>Leave them as they are</a>
        </div>
      </PostForm>
    </Layout>
  )
}

interface ScopeProps {
  /** How many were chosen. */
  readonly chosen: number
  /** Those that match, in words. */
  readonly matched: string
  readonly isChosen: boolean
}

const Scope: FC<ScopeProps> = ({ chosen, matched, isChosen }) => (
  <fieldset class="stack">
    <legend class="hidden">Which</legend>
    {chosen > 0 && (
      <label class="row">
        <input type="radio" name="scope" value="chosen" checked={isChosen} />{' '}
        {`${countedContexts(chosen)} that you chose`}
      </label>
    )}
    <label class="row">
      <input type="radio" name="scope" value="all" checked={!isChosen} /> {`all ${matched}`}
    </label>
  </fieldset>
)
