// inspector/pages: what can be done with contexts of a list. Only what some of the list may take is offered.
import type { FC } from 'hono/jsx'
import { CONTEXT_STATUSES } from '../../model/context.ts'
import type { ListFilters } from '../parts/filter-form.tsx'
import { hasEnded, isRetryable } from '../parts/status.tsx'
import type { Visitor } from '../visitor.ts'

export const ManyBar: FC<{ readonly visitor: Visitor; readonly filters: ListFilters }> = ({ visitor, filters }) => {
  const listed = filters['status']?.split(',') ?? []
  const isListed = (status: (typeof CONTEXT_STATUSES)[number]) =>
    listed.length === 0 ? !hasEnded(status) : listed.includes('all') || listed.includes(status)
  const statuses = CONTEXT_STATUSES.filter(isListed)
  const hasUnfinished = statuses.some((status) => !hasEnded(status))
  const { mayAdminister } = visitor
  return (
    <fieldset class="row many">
      <legend class="hidden">Do with those chosen</legend>
      <span class="row">
        <input name="tag" placeholder="tag" aria-label="Tag for those chosen" />
        <CommandButton name="tag">Tag</CommandButton>
        <CommandButton name="untag">Untag</CommandButton>
      </span>
      {hasUnfinished && (
        <span class="row">
          <input name="event" placeholder="event" aria-label="Event for those chosen" />
          <CommandButton name="event">Send</CommandButton>
        </span>
      )}
      {mayAdminister && statuses.some(isRetryable) && <CommandButton name="retry">Retry …</CommandButton>}
      {mayAdminister && hasUnfinished && filters['paused'] !== 'true' && (
        <CommandButton name="pause">Pause …</CommandButton>
      )}
      {mayAdminister && hasUnfinished && filters['paused'] !== 'false' && (
        <CommandButton name="resume">Resume …</CommandButton>
      )}
      {hasUnfinished && <CommandButton name="terminate">Terminate …</CommandButton>}
    </fieldset>
  )
}

const CommandButton: FC<{ readonly name: string; readonly children: string }> = ({ name, children }) => (
  <button class={name === 'terminate' ? 'danger' : undefined} type="submit" name="do" value={name}>
    {children}
  </button>
)
