// cli/mcp: the answer of a call as the result of a tool. A refusal is a result too, so that the agent can read why.
import { ConnectionError, Problem } from '../../client/problem.ts'

/** Characters of a result: an agent reads all of it. */
const MAX_CHARACTERS = 200_000

export async function answered(call: () => Promise<unknown>) {
  try {
    return textResult(JSON.stringify(await call()) ?? 'null')
  } catch (error) {
    if (error instanceof Problem) {
      const { status, type, detail, errors, retryable } = error
      return { ...textResult(JSON.stringify({ status, type, detail, errors, retryable })), isError: true }
    }
    if (error instanceof ConnectionError || error instanceof TypeError)
      return { ...textResult(error.message), isError: true }
    throw error
  }
}

function textResult(text: string) {
  const isLong = text.length > MAX_CHARACTERS
  const shown = isLong
    ? `${text.slice(0, MAX_CHARACTERS)}\n… cut: the answer has ${text.length} characters; ask for less`
    : text
  return { content: [{ type: 'text' as const, text: shown }] }
}
