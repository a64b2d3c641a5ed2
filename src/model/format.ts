// model: the format of all that is stored.

/**
 * The number that an embedded store's file, a Redis namespace and each pinned definition carry. What has another one is
 * refused, and stays as it is. Numbers below were those of versions before 0.3.0, which were never published.
 */
export const FORMAT = 9

/** Why something that is stored is not read. `what`: what it is, and where. */
export const otherFormat = (what: string, format: unknown): string =>
  `${what} has format ${typeof format === 'number' || typeof format === 'string' ? format : 'unknown'}, and this version of actorflux reads format ${FORMAT} alone: use the version that wrote it`
