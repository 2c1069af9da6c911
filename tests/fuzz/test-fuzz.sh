#!/usr/bin/env bash
# A few seconds of each fuzz target on top of its corpus; scripts/fuzz has the rest.
exec "$(dirname "$0")/../../scripts/fuzz" --seconds 5
