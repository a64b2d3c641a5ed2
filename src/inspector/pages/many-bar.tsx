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
        <Deed name="tag">Tag</Deed>
        <Deed name="untag">Untag</Deed>
      </span>
      {hasUnfinished && (
        <span class="row">
          <input name="event" placeholder="event" aria-label="Event for those chosen" />
          <Deed name="event">Send</Deed>
        </span>
      )}
      {mayAdminister && statuses.some(isRetryable) && <Deed name="retry">Retry …</Deed>}
      {mayAdminister && hasUnfinished && filters['paused'] !== 'true' && <Deed name="pause">Pause …</Deed>}
      {mayAdminister && hasUnfinished && filters['paused'] !== 'false' && <Deed name="resume">Resume …</Deed>}
      {hasUnfinished && <Deed name="terminate">Terminate …</Deed>}
    </fieldset>
  )
}

const Deed: FC<{ readonly name: string; readonly children: string }> = ({ name, children }) => (
  <button class={name === 'terminate' ? 'danger' : undefined} type="submit" name="do" value={name}>
    {children}
  </button>
)
