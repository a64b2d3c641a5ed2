// inspector/parts: the status of a context, as a word and a sign.
import { isFinished, type Status } from '../../model/context.ts'

/** The class of a status: the style sheet gives it colour and sign. */
export const toneOf = (status: Status): string => (status === 'WAITING_UNTIL' ? 'until' : status.toLowerCase())

/** Whether it can be retried, once it has ended. */
export const isRetryable = (status: Status): boolean => isFinished(status) && status !== 'COMPLETED'

export const statusSign = ({ status, paused }: { readonly status: Status; readonly paused?: boolean }) => (
  <span>
    <span class={`status ${toneOf(status)}`}>{status}</span>
    {paused && (
      <>
        {' '}
        <span class="status paused">paused</span>
      </>
    )}
  </span>
)
