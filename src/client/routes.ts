// client: how each call travels over HTTP. The client must need no library, so the build replaces this file by the tables
// themselves: see `build` in package.json.
export { OTHER_ROUTES, ROUTES } from '../api/routes.ts'
