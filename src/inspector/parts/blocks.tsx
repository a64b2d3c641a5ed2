// inspector/parts: the blocks that pages are made of.
import type { Child, FC, PropsWithChildren } from 'hono/jsx'

interface SectionProps {
  readonly id: string
  readonly title: Child
  readonly class?: string
}

export const Section: FC<PropsWithChildren<SectionProps>> = ({ id, title, children, ...rest }) => (
  <section aria-labelledby={id} {...rest}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
)

/** Names, each with what is told of it; what has nothing is left out. */
export const Facts: FC<{ readonly facts: readonly (readonly [name: Child, told: Child])[] }> = ({ facts }) => (
  <dl>
    {facts
      .filter(([, told]) => told !== null)
      .map(([name, told]) => (
        <>
          <dt>{name}</dt>
          <dd>{told}</dd>
        </>
      ))}
  </dl>
)

/** What is shown where there is nothing yet, with a command that makes one. */
export const Empty: FC<PropsWithChildren<{ readonly command?: string | undefined }>> = ({ children, command }) => (
  <div class="empty">
    <p>{children}</p>
    {command !== undefined && (
      <div class="command">
        <pre>{command}</pre>
        <CopyButton text={command} />
      </div>
    )}
  </div>
)

/** An id or another text that is copied often. */
export const Copyable: FC<{ readonly text: string }> = ({ text }) => (
  <>
    <code>{text}</code> <CopyButton text={text} label={`Copy ${text}`} />
  </>
)

/** It appears only where scripts run. */
const CopyButton: FC<{ readonly text: string; readonly label?: string }> = ({ text, label }) => (
  <button type="button" class="copy" data-copy={text} aria-label={label} hidden>
    Copy
  </button>
)

export const Tag: FC<{ readonly tag: string; readonly href: string }> = ({ tag, href }) => (
  <a class="tag" href={href} title={tag}>
    {tag}
  </a>
)

/** As much of a text as there is room for in a row. */
export const CutLine: FC<{ readonly text: string; readonly class?: string }> = ({ text, class: name = '' }) => (
  <span class={`cut ${name}`.trim()} title={text}>
    {text}
  </span>
)
