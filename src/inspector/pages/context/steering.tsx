// inspector/pages: what can be done with a context, besides sending it an event: retry, pause, resume, tag, terminate.
import type { Child, FC } from 'hono/jsx'
import type { ContextView } from '../../../api/contexts.ts'
import type { JsonObject } from '../../../model/json/value.ts'
import { RefusalNotice, type Refusal } from '../../forms/fields.tsx'
import { RETRY_PLACES, RetryFields, statesOf } from '../../forms/retry-fields.tsx'
import { contextHref, fullNameOf } from '../../parts/links.ts'
import { hasEnded, isRetryable } from '../../parts/status.tsx'
import { FormToken, OnceToken } from '../../shell.tsx'
import type { Visitor } from '../../visitor.ts'
import type { SentForm } from './actions.tsx'

/** What an administrator may do with a context, as it is now. */
export type SteeringCommand = 'retry' | 'try' | 'pause' | 'resume'

/** Each with its words. */
const WORDS: { readonly [command in SteeringCommand]: string } = {
  retry: 'Retry',
  try: 'Try now',
  pause: 'Pause',
  resume: 'Resume',
}

/** In the order in which they are offered. */
function commandsFor({ mayAdminister }: Visitor, { status, paused, step }: ContextView): readonly SteeringCommand[] {
  if (!mayAdminister) return []
  if (isRetryable(status)) return ['retry']
  if (hasEnded(status)) return []
  const isInBackoff = step !== null && step.nextAttemptAt !== null
  if (paused) return ['resume']
  return isInBackoff ? ['try', 'pause'] : ['pause']
}

interface SteeringFacts {
  readonly visitor: Visitor
  readonly context: ContextView
}

/** Leads from the head of the page to what can be done; on a phone that is far below. */
export const SteeringLinks: FC<SteeringFacts> = ({ visitor, context }) => (
  <>
    {commandsFor(visitor, context)
      .filter((command) => command !== 'pause')
      .map((command) => (
        <a href="#steering">{WORDS[command]} …</a>
      ))}
  </>
)

export const Steering: FC<
  SteeringFacts & { readonly definition: JsonObject | null; readonly sent: SentForm | null }
> = ({ visitor, context, definition, sent }) => {
  const { status, tags, paused, step, currentState } = context
  const commands = commandsFor(visitor, context)
  const isOpen = visitor.mayInvoke && !hasEnded(status)
  const refusal = sent && sent.event === null ? sent.refusal : null
  // It is a part of the page in any case, so that it can come back.
  if (commands.length === 0 && !isOpen && !refusal) return <div id="steering" data-part="steering" hidden />
  // Replaced only when what can be done has changed, so that nothing that is being typed is lost.
  const key = JSON.stringify([tags, status, paused, step?.attempt, step?.nextAttemptAt, currentState])
  return (
    <section
      class="box"
      id="steering"
      aria-labelledby="actions"
      data-part="steering"
      data-key={refusal ? undefined : key}
    >
      <h2 id="actions">Actions</h2>
      <RefusalNotice refusal={refusal} controls={[]} places={RETRY_PLACES} />
      {commands
        .filter((command) => command !== 'pause')
        .map((command) => (
          <CommandForm visitor={visitor} context={context} command={command} />
        ))}
      {commands.includes('retry') && (
        <RetryForm visitor={visitor} context={context} definition={definition} refusal={refusal} />
      )}
      {isOpen && <TagForm visitor={visitor} context={context} />}
      {commands.includes('pause') && <CommandForm visitor={visitor} context={context} command="pause" />}
      {isOpen && <TerminateForm visitor={visitor} context={context} />}
    </section>
  )
}

const CommandForm: FC<SteeringFacts & { readonly command: SteeringCommand }> = ({ visitor, context, command }) => (
  <form class="stack" method="post" action={`${contextHref(context.id)}/${command === 'try' ? 'retry' : command}`}>
    <FormToken visitor={visitor} />
    <OnceToken />
    <p class="faint">{explained(command, context)}</p>
    <div>
      <button class={command === 'pause' ? undefined : 'primary'} type="submit">
        {WORDS[command]}
      </button>
    </div>
  </form>
)

/** What will happen. */
function explained(command: SteeringCommand, { status, currentState, step, pending }: ContextView): Child {
  const state = <b>{currentState}</b>
  switch (command) {
    case 'try':
      return `Makes attempt ${step?.attempt ?? 1} of ${step?.maxAttempts ?? 1} now.`
    case 'pause':
      return 'Paused, it starts no step, takes no wake-up, and keeps the events that it is sent.'
    case 'resume':
      return pending.length === 0
        ? 'It goes on with what is due.'
        : `It takes what it keeps (${pending.length}), then goes on with what is due.`
    case 'retry':
      return status === 'TERMINATED' ? (
        <>It goes on in {state}, where it stood.</>
      ) : (
        <>Runs {state} again, with the same inputs and a new set of attempts.</>
      )
  }
}

const RetryForm: FC<SteeringFacts & { readonly definition: JsonObject | null; readonly refusal: Refusal | null }> = ({
  visitor,
  context,
  definition,
  refusal,
}) => (
  <details open={refusal !== null}>
    <summary>Retry otherwise …</summary>
    <form class="stack" method="post" action={`${contextHref(context.id)}/retry`} aria-label="Retry otherwise">
      <FormToken visitor={visitor} />
      <OnceToken />
      <RetryFields states={statesOf(definition)} refusal={refusal} />
      <div>
        <button class="primary" type="submit">
          Retry this way
        </button>
      </div>
    </form>
  </details>
)

const TagForm: FC<SteeringFacts> = ({ visitor, context }) => (
  <form class="row" method="post" action={`${contextHref(context.id)}/tags`}>
    <FormToken visitor={visitor} />
    <input name="tag" aria-label="Tag" placeholder="tag" required />
    <button type="submit" name="do" value="add">
      Add tag
    </button>
    <button type="submit" name="do" value="remove">
      Remove tag
    </button>
  </form>
)

const TerminateForm: FC<SteeringFacts> = ({ visitor, context }) => (
  <details>
    <summary>Terminate …</summary>
    <form class="stack" method="post" action={`${contextHref(context.id)}/terminate`}>
      <FormToken visitor={visitor} />
      <p>{`Terminate context ${context.id} of ${fullNameOf(context)}, which is in ${context.currentState}?`}</p>
      <div>
        <button class="danger" type="submit">
          Terminate
        </button>
      </div>
    </form>
  </details>
)
