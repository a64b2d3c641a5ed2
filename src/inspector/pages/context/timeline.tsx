// inspector/pages: what happened to a context, in time, with how long each stay took.
import type { FC } from 'hono/jsx'
import type { ContextView } from '../../../api/get-context.ts'
import { ClockTime, durationText, When } from '../../parts/time.tsx'
import type { Stay } from './moves.ts'

/** Stays that are shown; the oldest are left out. */
const MAX_SHOWN = 200

export const Timeline: FC<{
  readonly context: ContextView
  readonly stays: readonly Stay[]
  readonly now: number
  readonly hrefOf: (state: string) => string
}> = ({ context, stays, now, hrefOf }) => {
  const shown = stays.slice(-MAX_SHOWN)
  const longest = Math.max(1, ...shown.map(({ lasted }) => lasted))
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {stays.length > shown.length && (
        <p class="faint">{`${stays.length - shown.length} earlier moves are left out.`}</p>
      )}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">at</th>
              <th scope="col">event</th>
              <th scope="col">state</th>
              <th scope="col" class="num">
                stay
              </th>
              <th scope="col">
                <span class="hidden">share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((stay) => (
              <Row stay={stay} context={context} longest={longest} href={hrefOf(stay.state)} />
            ))}
          </tbody>
        </table>
      </div>
      {context.step?.lastError && (
        <p class="notice bad">
          Attempt failed <When at={context.step.lastError.at} now={now} />:{' '}
          <code>{`${context.step.lastError.type}: ${context.step.lastError.message}`}</code>
        </p>
      )}
    </section>
  )
}

const Row: FC<{
  readonly stay: Stay
  readonly context: ContextView
  readonly longest: number
  readonly href: string
}> = ({ stay, context, longest, href }) => {
  const hasFailed = stay.isCurrent && context.status === 'FAILED'
  return (
    <tr>
      <td class="mono">
        <ClockTime at={stay.at} precise />
      </td>
      <td>{stay.from === null ? 'start' : stay.event === null ? '–' : <code>{stay.event}</code>}</td>
      <td class="said">
        → <a href={href}>{stay.state}</a> {hasFailed && <span class="status failed">failed</span>}
      </td>
      <td class="num">
        {durationText(stay.lasted)}
        {stay.isCurrent && context.endedAt === null ? ' …' : ''}
      </td>
      <td>
        <svg class="share" width="120" height="8" aria-hidden="true">
          <rect class={hasFailed ? 'bad' : ''} height="8" rx="2" width={share(stay.lasted, longest)} />
        </svg>
      </td>
    </tr>
  )
}

/** Short stays stay visible beside long ones. */
const share = (lasted: number, longest: number): string =>
  (2 + 118 * (Math.log1p(lasted) / Math.log1p(longest))).toFixed(1)
