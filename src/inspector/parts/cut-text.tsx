// inspector/parts: a long text, as far as a page has room for it.
import type { FC } from 'hono/jsx'
import { jsonText, type Cut } from './json-text.ts'

/** Characters of JSON or XML in a page. */
export const MAX_TEXT_CHARACTERS = 200_000

export const CutText: FC<{ readonly cut: Cut; readonly wraps?: boolean }> = ({
  cut: { text, isCut },
  wraps = false,
}) => (
  <>
    <pre class={wraps ? undefined : 'wide'} tabindex={0}>
      {text}
    </pre>
    {isCut && <p class="faint">The rest is left out here: the API shows it.</p>}
  </>
)

export const JsonBlock: FC<{ readonly value: object }> = ({ value }) => (
  <CutText cut={jsonText(value, MAX_TEXT_CHARACTERS, 2)} />
)
