// inspector/pages: what is done with many contexts: it is asked for, confirmed, and begins as an operation.
import { CALLS } from '../../api/calls.ts'
import { COMMAND_NAMES, COMMANDS, type CommandName } from '../../api/commands.ts'
import { malformed } from '../../model/failure.ts'
import { getOwn } from '../../model/json/value.ts'
import { refusalNotice } from '../forms/fields.tsx'
import { inputsField, inputsOf, RETRY_POINTERS, retryFields, retryOptionsOf } from '../forms/retry-fields.tsx'
import { Layout, PostForm } from '../layout.tsx'
import { filtersIn, filterText, statusesIn, typedTexts } from '../forms/filters.tsx'
import { faint } from '../parts/blocks.tsx'
import { operationHref } from '../parts/links.tsx'
import { isRetryable } from '../parts/status.tsx'
import { checkRole, type PageRoutes, type Refusal, type SentForm } from '../routes.tsx'
import { countedContexts, VERBS } from './operations.tsx'

export function addBulkPage(pages: PageRoutes): void {
  pages.post('/contexts/many', {
    async run(form) {
      const { command, word, ids, filters } = bulkRequestOf(form)
      checkRole(form.viewer, COMMANDS[command].role)
      if (form.text('sure') !== 'yes') return () => confirmPage(form, null)
      const { operationId } = await form.viewer.api.startOperation({
        // Those that were chosen are meant whatever has become of them; each that can't take it is told.
        ...(form.text('scope') === 'chosen'
          ? { filter: { status: 'all' }, contextIds: ids }
          : { filter: { ...filters } }),
        do: command,
        ...withOf(command, word, form),
      })
      return operationHref(operationId ?? '')
    },
    again: confirmPage,
  })
}

/** What the word of a command is. */
const WORDS: { readonly [command: string]: 'tag' | 'event' } = { tag: 'tag', untag: 'tag', event: 'event' }

/** @throws FluxError `malformed` when it does not say what is to be done */
function bulkRequestOf({ text, values }: SentForm) {
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
    /** The tag, or the name of the event; empty for others. */
    word,
    /** Those that were chosen. */
    ids: (values.get('id') ?? []).map(Number).filter((id) => Number.isSafeInteger(id) && id > 0),
    /** Filters of the list that they were chosen from; for a retry, only failed and terminated contexts are meant. */
    filters: retried.length === 0 ? filters : { ...filters, status: retried.join(',') },
    /** Address of the list. */
    back,
  }
}

function withOf(command: CommandName, word: string, form: SentForm) {
  if (command === 'retry') return { with: retryOptionsOf(form) }
  if (word === '') return {}
  if (command !== 'event') return { with: { tags: [word] } }
  return { with: { event: word, ...inputsOf(form.text('inputs')) } }
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
  const { total } = await form.viewer.api.countContexts(
    typedTexts(CALLS.countContexts, { ...filters, status: statusesIn(filters).join(',') }),
  )
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
      <PostForm
        action="/inspector/contexts/many"
        once
        values={{ do: command, with: word, back, sure: 'yes', id: ids.map(String) }}
      >
        {refusalNotice(refusal, RETRY_POINTERS)}
        <fieldset class="stack">
          <legend class="hidden">Which</legend>
          {ids.length > 0 && scope('chosen', `${countedContexts(ids.length)} that you chose`, isChosen)}
          {scope('all', `all ${countedContexts(total)} that match: ${filterText(filters)}`, !isChosen)}
        </fieldset>
        {HINTS[command] && faint(HINTS[command])}
        {command === 'event' && inputsField('Inputs of the event', refusal)}
        {command === 'retry' && (
          <details open={refusal !== null}>
            <summary>Otherwise …</summary>
            <section>{retryFields([], refusal)}</section>
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

/** Which contexts are meant. */
const scope = (value: string, text: string, isChosen: boolean) => (
  <label class="row">
    <input type="radio" name="scope" value={value} checked={isChosen} /> {text}
  </label>
)
