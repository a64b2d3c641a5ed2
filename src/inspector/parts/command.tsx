// inspector/parts: a command to copy, and what is shown where there is nothing yet.
import type { Child, FC } from 'hono/jsx'

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

/** An id or another text that is copied often. */
export const Copyable: FC<{ readonly text: string }> = ({ text }) => (
  <>
    <code>{text}</code>{' '}
    <button type="button" class="copy" data-copy={text} aria-label={`Copy ${text}`} hidden>
      Copy
    </button>
  </>
)
