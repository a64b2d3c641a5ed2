// inspector/pages: the services, with how many contexts each has.
import type { FC } from 'hono/jsx'
import type { ServicesView } from '../../api/list-services.ts'
import { Empty } from '../parts/command.tsx'
import { contextsHref, serviceHref } from '../parts/links.ts'
import { When } from '../parts/time.tsx'
import { Shell } from '../shell.tsx'
import type { Visitor } from '../visitor.ts'

type Service = ServicesView['services'][number]

export const ServicesPage: FC<{ readonly visitor: Visitor; readonly view: ServicesView }> = ({ visitor, view }) => (
  <Shell title="Services" place="Services" visitor={visitor} live="">
    <div class="head">
      <h1>Services</h1>
      <p class="faint">
        {`${view.services.length} loaded `}
        <When at={view.loadedAt} now={visitor.now} />
      </p>
    </div>
    <Faults faults={view.faults} />
    {view.services.length === 0 ? (
      <Empty command="npx actorflux validate actors">
        There are no services. Put a .flux file into a folder of actors: that folder is its package.
      </Empty>
    ) : (
      <div class="scroll" data-part="services">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">service</th>
              <th scope="col">started by</th>
              <th scope="col" class="num">
                unfinished
              </th>
              <th scope="col" class="num">
                failed
              </th>
              <th scope="col" class="num">
                kept
              </th>
            </tr>
          </thead>
          <tbody>
            {view.services.map((service) => (
              <Row service={service} />
            ))}
          </tbody>
        </table>
      </div>
    )}
  </Shell>
)

const Row: FC<{ readonly service: Service }> = ({ service }) => {
  const { package: owner, fluxName, comment, contexts, triggers, webhooks, secured } = service
  const { RUNNING = 0, WAITING = 0, WAITING_UNTIL = 0, FAILED = 0 } = contexts
  const unfinished = RUNNING + WAITING + WAITING_UNTIL
  const kept = Object.values(contexts).reduce((sum, count) => sum + (count ?? 0), 0)
  const href = serviceHref(owner, fluxName)
  return (
    <tr data-row id={`service-${owner}-${fluxName}`}>
      <td>
        <span class="faint">{owner} / </span>
        <a class="cut" href={href} title={`${owner}/${fluxName}`}>
          {fluxName}
        </a>
        {secured && <span class="tag">secured</span>}
        {comment !== null && <p class="faint cut line">{firstLine(comment)}</p>}
      </td>
      <td>
        {[
          ...triggers.map((trigger) => (typeof trigger === 'string' ? trigger : eventOf(trigger))),
          ...webhooks.map((webhook) => `/api${String(webhook['urlPath'])}`),
        ].map((name) => (
          <code class="tag">{name}</code>
        ))}
      </td>
      <Count name="unfinished" count={unfinished} href={contextsHref({ fluxName })} />
      <Count name="failed" count={FAILED} href={contextsHref({ fluxName, status: 'FAILED' })} bad />
      <Count name="kept" count={kept} href={contextsHref({ fluxName, status: 'all' })} />
    </tr>
  )
}

const Count: FC<{
  readonly name: string
  readonly count: number
  readonly href: string
  readonly bad?: boolean
}> = ({ name, count, href, bad = false }) => (
  <td class="num" data-name={name}>
    {count === 0 ? (
      <span class="faint">0</span>
    ) : (
      <a href={href} class={bad ? 'status failed' : undefined}>
        {count.toLocaleString('en')}
      </a>
    )}
  </td>
)

const Faults: FC<{ readonly faults: ServicesView['faults'] }> = ({ faults }) => {
  const bad = faults.filter(({ severity }) => severity === 'fault')
  if (bad.length === 0) return null
  return (
    <div class="notice bad" role="alert">
      <p>The last load found faults. These services go on as they were:</p>
      <ul>
        {bad.map(({ file, pointer, reason }) => (
          <li>
            <code>{`${file}${pointer}`}</code> {reason}
          </li>
        ))}
      </ul>
    </div>
  )
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

const eventOf = (trigger: ServicesView['services'][number]['triggers'][number]): string =>
  typeof trigger === 'object' && trigger !== null && !Array.isArray(trigger) ? String(trigger['event']) : ''
