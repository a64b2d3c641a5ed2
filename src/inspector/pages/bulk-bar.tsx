// inspector/pages: what can be done with contexts of a list. Only what some of the list may take is offered.
import type { FC } from 'hono/jsx'
import type { CommandName } from '../../api/commands.ts'
import { isFinished } from '../../model/context.ts'
import { statusesIn, type ListFilters } from '../forms/filters.tsx'
import { isRetryable } from '../parts/status.tsx'
import { useViewer } from '../viewer.ts'

export const BulkBar: FC<{ readonly filters: ListFilters }> = ({ filters }) => {
  const statuses = statusesIn(filters)
  const hasUnfinished = statuses.some((status) => !isFinished(status))
  const maySteer = useViewer().may('admin')
  return (
    <fieldset class="row many">
      <legend class="hidden">Do with those chosen</legend>
      <span class="row">
        <input name="tag" placeholder="tag" aria-label="Tag for those chosen" />
        {button('tag', 'Tag')}
        {button('untag', 'Untag')}
      </span>
      {hasUnfinished && (
        <span class="row">
          <input name="event" placeholder="event" aria-label="Event for those chosen" />
          {button('event', 'Send')}
        </span>
      )}
      {maySteer && statuses.some(isRetryable) && button('retry', 'Retry …')}
      {maySteer && hasUnfinished && filters['paused'] !== 'true' && button('pause', 'Pause …')}
      {maySteer && hasUnfinished && filters['paused'] !== 'false' && button('resume', 'Resume …')}
      {hasUnfinished && button('terminate', 'Terminate …')}
    </fieldset>
  )
}

const button = (command: CommandName, text: string) => (
  <button class={command === 'terminate' ? 'danger' : undefined} type="submit" name="do" value={command}>
    {text}
  </button>
)
