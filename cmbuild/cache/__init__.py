"""Results on disk by what they are made from; owns every folder of the cache and of builds."""
