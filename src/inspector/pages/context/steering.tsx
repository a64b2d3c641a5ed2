// inspector/pages: what can be done with a context, besides sending it an event: retry, pause, resume, tag, terminate.
import type { Child } from 'hono/jsx'
import { isFinished } from '../../../model/context.ts'
import { graphOf } from '../../diagram/graph.ts'
import { refusalNotice } from '../../forms/fields.tsx'
import { RETRY_POINTERS, retryFields } from '../../forms/retry-fields.tsx'
import { PostForm } from '../../layout.tsx'
import { faint, Section } from '../../parts/blocks.tsx'
import { contextHref, fullNameOf } from '../../parts/links.tsx'
import { isRetryable } from '../../parts/status.tsx'
import type { ShownContext } from './shown.ts'

/** What an administrator may do with a context, as it is now. */
interface Command {
  readonly name: 'retry' | 'pause' | 'resume'
  readonly verb: string
  /** What will happen. */
  readonly hint: Child
}

/** In the order in which they are offered. */
function commandsFor({ context, viewer }: ShownContext): readonly Command[] {
  const { status, paused, step, pending, currentState } = context
  if (!viewer.may('admin') || status === 'COMPLETED') return []
  if (isRetryable(status)) {
    const state = <b>{currentState}</b>
    const onwards = <>It goes on in {state}, where it stood.</>
    const again = <>Runs {state} again, with the same inputs and a new set of attempts.</>
    return [{ name: 'retry', verb: 'Retry', hint: status === 'TERMINATED' ? onwards : again }]
  }
  if (paused) {
    const kept = pending.length === 0 ? 'It' : `It takes what it keeps (${pending.length}), then`
    return [{ name: 'resume', verb: 'Resume', hint: `${kept} goes on with what is due.` }]
  }
  const hint = 'Paused, it starts no step, takes no wake-up, and keeps the events that it is sent.'
  const pause = { name: 'pause', verb: 'Pause', hint } as const
  if (!step?.nextAttemptAt) return [pause]
  const attempt = `Makes attempt ${step.attempt} of ${step.maxAttempts} now.`
  return [{ name: 'retry', verb: 'Try now', hint: attempt }, pause]
}

/** Leads from the head of the page to what can be done; on a phone that is far below. */
export const steeringLinks = (shown: ShownContext) =>
  commandsFor(shown).map(({ name, verb }) => name !== 'pause' && <a href="#steering">{verb} …</a>)

export function steering(shown: ShownContext) {
  const { context, definition, refused, viewer } = shown
  const { id, status, tags, paused, step, currentState } = context
  const commands = commandsFor(shown)
  const isOpen = viewer.may('invoke') && !isFinished(status)
  const refusal = refused?.event === null ? refused.refusal : null
  // It is a part of the page in any case, so that it can come back.
  if (commands.length === 0 && !isOpen && !refusal) return <div id="steering" data-part="steering" hidden />
  // Replaced only when what can be done has changed, so that nothing that is being typed is lost.
  const key = JSON.stringify([tags, status, paused, step?.attempt, step?.nextAttemptAt, currentState])
  const action = (name: string) => `${contextHref(id)}/${name}`
  return (
    <Section id="steering" title="Actions" class="box" data-part="steering" data-key={refusal ? undefined : key}>
      {refusalNotice(refusal, RETRY_POINTERS)}
      {commands.map(({ name, verb, hint }) => (
        <PostForm
          action={action(name)}
          once
          submit={verb}
          rehearses={name !== 'pause'}
          tone={name === 'pause' ? 'plain' : 'primary'}
        >
          {faint(hint)}
        </PostForm>
      ))}
      {commands.length > 0 && isRetryable(status) && (
        <details open={refusal !== null}>
          <summary>Retry otherwise …</summary>
          <PostForm action={action('retry')} aria-label="Retry otherwise" once submit="Retry this way" rehearses>
            {retryFields(
              graphOf(definition ?? {}).states.map(({ name }) => name),
              refusal,
            )}
          </PostForm>
        </details>
      )}
      {isOpen && (
        <>
          <PostForm action={action('tags')} class="row">
            <input name="tag" aria-label="Tag" placeholder="tag" required />
            <button type="submit" name="do" value="add">
              Add tag
            </button>
            <button type="submit" name="do" value="remove">
              Remove tag
            </button>
          </PostForm>
          <details>
            <summary>Terminate …</summary>
            <PostForm action={action('terminate')} submit="Terminate" rehearses tone="danger">
              <p>{`Terminate context ${id} of ${fullNameOf(context)}, which is in ${currentState}?`}</p>
            </PostForm>
          </details>
        </>
      )}
    </Section>
  )
}
