// cli/mcp: the answer of a call as the result of a tool. A refusal is a result too, so that the agent can read why.
import { ConnectionError, Problem } from '../../client/problem.ts'

/** Characters of a result: an agent reads all of it. */
const MAX_CHARACTERS = 200_000

/** The calls of an agent. */
export class AgentCalls {
  readonly #underWay = new Set<Promise<unknown>>()

  answer(call: () => Promise<unknown>) {
    const answer = answered(call)
    this.#underWay.add(answer)
    return answer.finally(() => this.#underWay.delete(answer))
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }
}

async function answered(call: () => Promise<unknown>) {
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
