# A server with what it needs to run, as a user without rights. Alone it keeps contexts in /data; with ACTORFLUX_REDIS_URL in Redis.
FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package needs its scripts: binaries come in packages of their own.
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
# A volume that is mounted there takes over the owner.
RUN install -d -o node -g node -m 700 /data
ENV NODE_ENV=production ACTORFLUX_HOST=0.0.0.0 ACTORFLUX_DATA=/data
USER node
EXPOSE 8080
# Room for what lives only as long as a request: the collector then comes by less often.
CMD ["node", "--max-semi-space-size=32", "dist/cli/actorflux.js", "serve"]
