// inspector/parts: the status of a context, as a word and a sign.
import type { FC } from 'hono/jsx'
import type { ContextView } from '../../api/contexts.ts'

type Status = ContextView['status']

/** Class of each status: the style sheet gives it colour and sign. */
const TONES: { readonly [status in Status]: string } = {
  RUNNING: 'running',
  WAITING: 'waiting',
  WAITING_UNTIL: 'until',
  COMPLETED: 'completed',
  FAILED: 'failed',
  TERMINATED: 'terminated',
}

export const toneOf = (status: Status): string => TONES[status]

export const hasEnded = (status: Status): boolean =>
  status === 'COMPLETED' || status === 'FAILED' || status === 'TERMINATED'

/** Whether it can be retried, once it has ended. */
export const isRetryable = (status: Status): boolean => status === 'FAILED' || status === 'TERMINATED'

export const StatusSign: FC<{ readonly status: Status; readonly isPaused?: boolean }> = ({ status, isPaused }) => (
  <>
    <span class={`status ${toneOf(status)}`}>{status}</span>
    {isPaused === true && (
      <>
        {' '}
        <span class="status paused">paused</span>
      </>
    )}
  </>
)
