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

/** A remark. */
export const faint = (text: Child) => <p class="faint">{text}</p>

/** Names, each with what is told of it; what has nothing is left out. */
export const factList = (facts: readonly (readonly [name: Child, told: Child])[]) => (
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
        {copyButton(command)}
      </div>
    )}
  </div>
)

/** An id or another text that is copied often. */
export const copyable = (text: string) => (
  <>
    <code>{text}</code> {copyButton(text, `Copy ${text}`)}
  </>
)

/** It appears only where scripts run. */
const copyButton = (text: string, label?: string) => (
  <button type="button" class="copy" data-copy={text} aria-label={label} hidden>
    Copy
  </button>
)

export const tagLink = (tag: string, href: string) => (
  <a class="tag" href={href} title={tag}>
    {tag}
  </a>
)

/** As much of a text as there is room for in a row. `look`: its class. */
export const cutLine = (text: string, look = '') => (
  <span class={`cut ${look}`.trim()} title={text}>
    {text}
  </span>
)
