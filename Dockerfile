# The server and its run-time dependencies, run by an unprivileged user. Contexts are kept in /data, or in Redis with ACTORFLUX_REDIS_URL.
FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs install scripts: binaries come as packages of their own.
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY actors actors
# A volume that is mounted here gets this owner.
RUN install -d -o node -g node -m 700 /data
ENV NODE_ENV=production ACTORFLUX_HOST=0.0.0.0 ACTORFLUX_DATA=/data
USER node
EXPOSE 8080
# More memory for short-lived objects, so that the garbage collector runs less often.
CMD ["node", "--max-semi-space-size=64", "dist/cli/actorflux.js", "serve"]
