// inspector/parts: a command to copy, and what is shown where there is nothing yet.
import type { Child, FC } from 'hono/jsx'
import type { ServicesView } from '../../api/services.ts'
import { startCommand } from '../../model/start-command.ts'
import type { Visitor } from '../visitor.ts'

/** The button appears only where scripts run. */
export const CommandText: FC<{ readonly text: string }> = ({ text }) => (
  <div class="command">
    <pre>{text}</pre>
    <button type="button" class="copy" data-copy={text} hidden>
      Copy
    </button>
  </div>
)

export const Empty: FC<{ readonly children: Child; readonly command?: string | undefined }> = ({
  children,
  command,
}) => (
  <div class="empty">
    <p>{children}</p>
    {command !== undefined && <CommandText text={command} />}
  </div>
)

/** Starts a service that is loaded, on the server that was asked; undefined: there is none. */
export function startCommandFor(
  services: ServicesView['services'],
  { origin: url, hasSession }: Visitor,
): string | undefined {
  const named = services.map(({ input, secured, ...name }) => ({ ...name, source: { input, secured } }))
  return startCommand(named, url, hasSession)
}

/** An id or another text that is copied often. */
export const Copyable: FC<{ readonly text: string }> = ({ text }) => (
  <>
    <code>{text}</code>{' '}
    <button type="button" class="copy" data-copy={text} aria-label={`Copy ${text}`} hidden>
      Copy
    </button>
  </>
)
